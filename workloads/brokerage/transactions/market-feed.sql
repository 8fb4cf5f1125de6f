-- Market-Feed: ticker entries, in their order, and the limit orders that they trigger.
CREATE FUNCTION market_feed(symbols text[], prices bigint[], quantities bigint[], at_time bigint)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  triggered json;
BEGIN
  UPDATE last_trade
  SET lt_price = ticker.price, lt_dts = at_time, lt_vol = lt_vol + ticker.quantity
  FROM (
    SELECT symbol, sum(quantity)::bigint AS quantity, (array_agg(price ORDER BY place DESC))[1] AS price
    FROM unnest(symbols, prices, quantities) WITH ORDINALITY AS entry(symbol, price, quantity, place)
    GROUP BY symbol
  ) AS ticker
  WHERE lt_s_symb = ticker.symbol;

  -- A request is triggered by the first entry that reaches its price.
  WITH triggered_request AS (
    SELECT DISTINCT ON (tr_t_id) place, trade_request.*
    FROM unnest(symbols, prices) WITH ORDINALITY AS entry(symbol, price, place)
    JOIN trade_request ON tr_s_symb = symbol
      AND (tr_tt_id = 'TSL' AND tr_bid_price >= price
        OR tr_tt_id = 'TLS' AND tr_bid_price <= price
        OR tr_tt_id = 'TLB' AND tr_bid_price >= price)
    ORDER BY tr_t_id, place
  ), submitted AS (
    UPDATE trade SET t_st_id = 'SBMT', t_dts = at_time FROM triggered_request WHERE t_id = tr_t_id
  ), noted AS (
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
    SELECT tr_t_id, at_time, 'SBMT' FROM triggered_request
  ), removed AS (
    DELETE FROM trade_request USING triggered_request
    WHERE trade_request.tr_t_id = triggered_request.tr_t_id
  )
  SELECT coalesce(json_agg(line), '[]') INTO triggered
  FROM (
    SELECT tr_t_id AS "tradeId", tr_tt_id AS "tradeTypeId", tr_s_symb AS "symbol",
           tr_qty AS "quantity", tr_bid_price AS "price"
    FROM triggered_request
    ORDER BY place, tr_t_id
  ) AS line;

  RETURN json_build_object('triggered', triggered);
END
$$;
