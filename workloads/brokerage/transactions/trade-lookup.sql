-- Trade-Lookup: trades selected in one of three ways, or (frame 4) all changes of the lots that a
-- trade touched.
CREATE FUNCTION trade_lookup(
  frame integer, trade_ids bigint[],
  account_id bigint, given_symbol text, first_time bigint, last_time bigint, trades_max integer
) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  trade_id bigint;
BEGIN
  IF frame <> 4 THEN
    RETURN json_build_object('trades', looked_up_trades(
      selected_trades(frame, trade_ids, account_id, given_symbol, first_time, last_time, trades_max)
    ));
  END IF;

  SELECT t_id INTO trade_id FROM trade
  WHERE t_ca_id = account_id AND t_dts >= first_time
  ORDER BY t_dts, t_id
  LIMIT 1;

  RETURN (
    SELECT json_build_object('tradeId', trade_id, 'changes', coalesce(json_agg(line), '[]'))
    FROM (
      SELECT changed.hh_h_t_id AS "lotId", changed.hh_t_id AS "tradeId",
             changed.hh_before_qty AS "before", changed.hh_after_qty AS "after"
      FROM holding_history AS touched
      JOIN holding_history AS changed ON changed.hh_h_t_id = touched.hh_h_t_id
      WHERE touched.hh_t_id = trade_id
      ORDER BY changed.hh_h_t_id, changed.hh_t_id
      LIMIT 20
    ) AS line
  );
END
$$;
