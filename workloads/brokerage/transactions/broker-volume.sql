-- Broker-Volume: for each of some brokers, the value of its pending orders for securities of a
-- sector.
CREATE FUNCTION broker_volume(broker_names text[], sector_name text)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT json_build_object('volumes', coalesce(json_agg(line), '[]'))
    FROM (
      SELECT b_name AS "brokerName", sum(tr_qty * tr_bid_price)::bigint AS "volume"
      FROM broker
      JOIN trade_request ON tr_b_id = b_id
      JOIN security ON s_symb = tr_s_symb
      JOIN company ON co_id = s_co_id
      JOIN industry ON in_id = co_in_id
      JOIN sector ON sc_id = in_sc_id
      WHERE b_name = ANY (broker_names) AND sc_name = sector_name
      GROUP BY b_id
      ORDER BY "volume" DESC, b_name
    ) AS line
  );
END
$$;
