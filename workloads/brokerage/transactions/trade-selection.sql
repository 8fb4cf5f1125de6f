-- The part that Trade-Lookup and Trade-Update share: the selection of trades, and their
-- description.
CREATE FUNCTION selected_trades(
  frame integer, trade_ids bigint[],
  account_id bigint, given_symbol text, first_time bigint, last_time bigint, trades_max integer
) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  CASE frame
    WHEN 1 THEN
      RETURN trade_ids;
    WHEN 2 THEN
      RETURN ARRAY(
        SELECT t_id FROM trade
        WHERE t_ca_id = account_id AND t_dts BETWEEN first_time AND last_time
        ORDER BY t_dts, t_id
        LIMIT trades_max
      );
    WHEN 3 THEN
      RETURN ARRAY(
        SELECT t_id FROM trade
        WHERE t_s_symb = given_symbol AND t_dts BETWEEN first_time AND last_time
        ORDER BY t_dts, t_id
        LIMIT trades_max
      );
  END CASE;
END
$$;

-- In the order of their ids in the array; ids without a trade are left out.
CREATE FUNCTION looked_up_trades(trade_ids bigint[]) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT coalesce(json_agg(line), '[]')
    FROM (
      SELECT t_id AS "tradeId", t_ca_id AS "accountId", t_s_symb AS "symbol", t_qty AS "quantity",
             tt_name AS "tradeTypeName", tt_is_mrkt AS "isMarket", t_is_cash AS "isCash",
             t_dts AS "time", t_bid_price AS "bidPrice", t_trade_price AS "tradePrice",
             t_exec_name AS "executorName",
             CASE WHEN se_t_id IS NOT NULL THEN json_build_object(
               'amount', se_amt, 'dueDate', se_cash_due_date, 'cashType', se_cash_type
             ) END AS "settlement",
             CASE WHEN ct_t_id IS NOT NULL THEN json_build_object(
               'amount', ct_amt, 'time', ct_dts, 'name', ct_name
             ) END AS "cashTransaction",
             (
               SELECT coalesce(json_agg(event), '[]')
               FROM (
                 SELECT th_dts AS "time", th_st_id AS "statusId"
                 FROM trade_history
                 WHERE th_t_id = t_id
                 ORDER BY th_dts, th_st_id
                 LIMIT 3
               ) AS event
             ) AS "history"
      FROM unnest(trade_ids) WITH ORDINALITY AS given(id, place)
      JOIN trade ON t_id = id
      JOIN trade_type ON tt_id = t_tt_id
      LEFT JOIN settlement ON se_t_id = id
      LEFT JOIN cash_transaction ON ct_t_id = id
      ORDER BY place
    ) AS line
  );
END
$$;
