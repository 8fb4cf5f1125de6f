-- Market-Watch: the value of a list of securities now and on a past day. One of the three lists is
-- given.
CREATE FUNCTION market_watch(
  customer_id bigint,
  account_id bigint,
  industry_name text, first_company_id bigint, last_company_id bigint,
  market_day bigint
) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  symbols text[];
BEGIN
  IF customer_id IS NOT NULL THEN
    symbols := ARRAY(
      SELECT wi_s_symb FROM watch_list JOIN watch_item ON wi_wl_id = wl_id WHERE wl_c_id = customer_id
    );
  ELSIF account_id IS NOT NULL THEN
    symbols := ARRAY(SELECT hs_s_symb FROM holding_summary WHERE hs_ca_id = account_id);
  ELSE
    symbols := ARRAY(
      SELECT s_symb
      FROM industry
      JOIN company ON co_in_id = in_id
      JOIN security ON s_co_id = co_id
      WHERE in_name = industry_name
        AND co_id BETWEEN first_company_id AND last_company_id
        AND s_st_id = 'ACTV'
    );
  END IF;

  RETURN (
    SELECT json_build_object(
      'symbols', count(*),
      'capitalizationNow', coalesce(sum(s_num_out * lt_price), 0),
      'capitalizationThen', coalesce(sum(s_num_out * dm_close), 0)
    )
    FROM unnest(symbols) AS listed(symbol)
    JOIN daily_market ON dm_s_symb = symbol AND dm_date = market_day
    JOIN last_trade ON lt_s_symb = symbol
    JOIN security ON s_symb = symbol
  );
END
$$;
