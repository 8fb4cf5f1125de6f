-- Trade-Update: the same selections as Trade-Lookup; the first selected trades are modified.
CREATE FUNCTION trade_update(
  frame integer, trade_ids bigint[],
  account_id bigint, given_symbol text, first_time bigint, last_time bigint, trades_max integer,
  updates_max integer
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  selected bigint[] := selected_trades(
    frame, trade_ids, account_id, given_symbol, first_time, last_time, trades_max
  );
  modified bigint[] := ARRAY(
    SELECT t_id FROM unnest(selected) WITH ORDINALITY AS given(id, place) JOIN trade ON t_id = id
    ORDER BY place
    LIMIT updates_max
  );
  updated integer;
BEGIN
  CASE frame
    WHEN 1 THEN
      UPDATE trade
      SET t_exec_name = CASE
        WHEN strpos(t_exec_name, ' X ') > 0 THEN regexp_replace(t_exec_name, ' X ', ' ')
        ELSE regexp_replace(t_exec_name, ' ', ' X ')
      END
      WHERE t_id = ANY (modified);
    WHEN 2 THEN
      UPDATE settlement
      SET se_cash_type = CASE
        WHEN t_is_cash THEN CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' ELSE 'Cash Account' END
        ELSE CASE se_cash_type WHEN 'Margin Account' THEN 'Margin' ELSE 'Margin Account' END
      END
      FROM trade
      WHERE se_t_id = ANY (modified) AND t_id = se_t_id;
    WHEN 3 THEN
      UPDATE cash_transaction
      SET ct_name = CASE
        WHEN strpos(ct_name, ' shares of ') > 0 THEN regexp_replace(ct_name, ' shares of ', ' Shares of ')
        ELSE regexp_replace(ct_name, ' Shares of ', ' shares of ')
      END
      WHERE ct_t_id = ANY (modified);
  END CASE;
  GET DIAGNOSTICS updated = ROW_COUNT;
  RETURN json_build_object('updated', updated, 'trades', looked_up_trades(selected));
END
$$;
