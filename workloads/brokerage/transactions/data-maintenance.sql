-- Data-Maintenance: a small edit of one of twelve tables, which can be repeated without end.

-- `one` becomes `other`; everything else becomes `one`.
CREATE FUNCTION toggled(value text, one text, other text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN value = one THEN other ELSE one END;
$$;

CREATE FUNCTION data_maintenance(
  table_name text, account_id bigint, customer_id bigint, company_id bigint,
  given_symbol text, market_day bigint, volume bigint, at_time bigint, tax_rate_id text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  day_ms CONSTANT bigint := 86400000;
  changed integer;
  list_id bigint;
  symbols text[];
  old_symbol text;
BEGIN
  CASE table_name
    WHEN 'account_permission' THEN
      UPDATE account_permission SET ap_acl = toggled(ap_acl, '1111', '0011')
      WHERE (ap_ca_id, ap_tax_id) = (
        SELECT ap_ca_id, ap_tax_id FROM account_permission
        WHERE ap_ca_id = account_id
        ORDER BY ap_acl DESC, ap_tax_id DESC
        LIMIT 1
      );
    WHEN 'address' THEN
      UPDATE address SET ad_line2 = toggled(ad_line2, 'Apt. 10C', 'Apt. 22')
      WHERE ad_id = (SELECT c_ad_id FROM customer WHERE c_id = customer_id);
    WHEN 'company' THEN
      UPDATE company SET co_sp_rate = toggled(co_sp_rate, 'ABA', 'AAA') WHERE co_id = company_id;
    WHEN 'customer' THEN
      UPDATE customer
      SET c_email_2 = split_part(c_email_2, '@', 1) || '@'
        || toggled(split_part(c_email_2, '@', 2), 'mindspring.example', 'earthlink.example')
      WHERE c_id = customer_id;
    WHEN 'customer_taxrate' THEN
      UPDATE customer_taxrate
      SET cx_tx_id = left(cx_tx_id, 2)
        || CASE WHEN right(cx_tx_id, -2)::integer < 4 THEN right(cx_tx_id, -2)::integer + 1 ELSE 1 END
      WHERE cx_c_id = customer_id AND cx_tx_id = (
        SELECT min(cx_tx_id) FROM customer_taxrate
        WHERE cx_c_id = customer_id AND left(cx_tx_id, 2) IN ('CN', 'US')
      );
    WHEN 'daily_market' THEN
      UPDATE daily_market SET dm_vol = dm_vol + volume
      WHERE dm_s_symb = given_symbol AND dm_date = market_day;
    WHEN 'exchange' THEN
      UPDATE exchange SET ex_desc = split_part(ex_desc, ' LAST UPDATED ', 1) || ' LAST UPDATED ' || at_time;
    WHEN 'financial' THEN
      UPDATE financial
      SET fi_qtr_start_date = fi_qtr_start_date + CASE
        WHEN extract(day FROM to_timestamp(fi_qtr_start_date / 1000) AT TIME ZONE 'UTC') = 1 THEN day_ms
        ELSE -day_ms
      END
      WHERE fi_co_id = company_id;
    WHEN 'news_item' THEN
      UPDATE news_item SET ni_dts = ni_dts + day_ms FROM news_xref
      WHERE nx_co_id = company_id AND ni_id = nx_ni_id;
    WHEN 'security' THEN
      UPDATE security SET s_exch_date = s_exch_date + day_ms WHERE s_symb = given_symbol;
    WHEN 'taxrate' THEN
      UPDATE taxrate
      SET tx_name = CASE
        WHEN strpos(tx_name, ' Tax ') > 0 THEN regexp_replace(tx_name, ' Tax ', ' tax ')
        ELSE regexp_replace(tx_name, ' tax ', ' Tax ')
      END
      WHERE tx_id = tax_rate_id;
    WHEN 'watch_item' THEN
      SELECT min(wl_id) INTO list_id FROM watch_list WHERE wl_c_id = customer_id;
      symbols := ARRAY(SELECT wi_s_symb FROM watch_item WHERE wi_wl_id = list_id ORDER BY wi_s_symb);
      old_symbol := symbols[1 + cardinality(symbols) / 2];
      -- The next symbol after it in the order of symbols; if there is none, from the start.
      UPDATE watch_item
      SET wi_s_symb = (
        SELECT s_symb FROM security
        WHERE s_symb <> ALL (symbols)
        ORDER BY s_symb <= old_symbol, s_symb
        LIMIT 1
      )
      WHERE wi_wl_id = list_id AND wi_s_symb = old_symbol;
  END CASE;
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN json_build_object('rows', changed);
END
$$;
