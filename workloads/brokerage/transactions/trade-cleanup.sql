-- Trade-Cleanup: cancels all pending and submitted orders.
CREATE FUNCTION trade_cleanup(first_trade_id bigint, at_time bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  requests integer;
  submitted integer;
BEGIN
  INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
  SELECT tr_t_id, at_time, status
  FROM trade_request CROSS JOIN (VALUES ('SBMT'), ('CNCL')) AS noted(status)
  ON CONFLICT DO NOTHING;
  UPDATE trade SET t_st_id = 'CNCL', t_dts = at_time FROM trade_request WHERE t_id = tr_t_id;
  DELETE FROM trade_request;
  GET DIAGNOSTICS requests = ROW_COUNT;

  WITH cancelled AS (
    UPDATE trade SET t_st_id = 'CNCL', t_dts = at_time
    WHERE t_id >= first_trade_id AND t_st_id = 'SBMT'
    RETURNING t_id
  ), noted AS (
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
    SELECT t_id, at_time, 'CNCL' FROM cancelled
    ON CONFLICT DO NOTHING
  )
  SELECT count(*) INTO submitted FROM cancelled;

  RETURN json_build_object('requests', requests, 'submitted', submitted);
END
$$;
