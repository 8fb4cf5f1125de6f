-- Security-Detail: everything about a security.
CREATE FUNCTION security_detail(
  given_symbol text, first_day bigint, day_count integer, with_news_bodies boolean
) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT json_build_object(
      'security', json_build_object(
        'name', s_name,
        'sharesOut', s_num_out,
        'startDate', s_start_date,
        'exchangeDate', s_exch_date,
        'priceToEarnings', s_pe,
        'yearHigh', s_52wk_high,
        'yearHighDate', s_52wk_high_date,
        'yearLow', s_52wk_low,
        'yearLowDate', s_52wk_low_date,
        'dividend', s_dividend,
        'yield', s_yield
      ),
      'company', json_build_object(
        'id', co_id,
        'name', co_name,
        'rating', co_sp_rate,
        'chiefExecutive', co_ceo,
        'description', co_desc,
        'openDate', co_open_date,
        'statusId', co_st_id,
        'address', json_build_object(
          'line1', co_ad.ad_line1, 'line2', co_ad.ad_line2,
          'town', co_zc.zc_town, 'division', co_zc.zc_div,
          'zipCode', co_zc.zc_code, 'country', co_ad.ad_ctry
        )
      ),
      'exchange', json_build_object(
        'name', ex_name,
        'symbols', ex_num_symb,
        'open', ex_open,
        'close', ex_close,
        'description', ex_desc,
        'address', json_build_object(
          'line1', ex_ad.ad_line1, 'line2', ex_ad.ad_line2,
          'town', ex_zc.zc_town, 'division', ex_zc.zc_div,
          'zipCode', ex_zc.zc_code, 'country', ex_ad.ad_ctry
        )
      ),
      'competitors', (
        SELECT coalesce(json_agg(line), '[]')
        FROM (
          SELECT competitor.co_name AS "name", in_name AS "industryName"
          FROM company_competitor
          JOIN company AS competitor ON competitor.co_id = cp_comp_co_id
          JOIN industry ON in_id = cp_in_id
          WHERE cp_co_id = s_co_id
          ORDER BY cp_comp_co_id, cp_in_id
          LIMIT 3
        ) AS line
      ),
      'financials', (
        SELECT coalesce(json_agg(line), '[]')
        FROM (
          SELECT fi_year AS "year", fi_qtr AS "quarter", fi_qtr_start_date AS "startDate",
                 fi_revenue AS "revenue", fi_net_earn AS "netEarnings",
                 fi_basic_eps AS "basicEarningsPerShare", fi_dilut_eps AS "dilutedEarningsPerShare",
                 fi_margin AS "margin", fi_inventory AS "inventory", fi_assets AS "assets",
                 fi_liability AS "liabilities", fi_out_basic AS "basicSharesOut",
                 fi_out_dilut AS "dilutedSharesOut"
          FROM financial
          WHERE fi_co_id = s_co_id
          ORDER BY fi_year, fi_qtr
          LIMIT 20
        ) AS line
      ),
      'days', (
        SELECT coalesce(json_agg(line), '[]')
        FROM (
          SELECT dm_date AS "day", dm_close AS "close", dm_high AS "high", dm_low AS "low",
                 dm_vol AS "volume"
          FROM daily_market
          WHERE dm_s_symb = given_symbol AND dm_date >= first_day
          ORDER BY dm_date
          LIMIT day_count
        ) AS line
      ),
      'lastTrade', json_build_object(
        'price', lt_price, 'openPrice', lt_open_price, 'volume', lt_vol
      ),
      'news', (
        SELECT coalesce(json_agg(line), '[]')
        FROM (
          SELECT CASE WHEN with_news_bodies THEN ni_item ELSE '' END AS "body",
                 CASE WHEN with_news_bodies THEN '' ELSE ni_headline END AS "headline",
                 CASE WHEN with_news_bodies THEN '' ELSE ni_summary END AS "summary",
                 ni_dts AS "time", ni_source AS "source", ni_author AS "author"
          FROM news_xref
          JOIN news_item ON ni_id = nx_ni_id
          WHERE nx_co_id = s_co_id
          ORDER BY nx_ni_id
          LIMIT 2
        ) AS line
      )
    )
    FROM security
    JOIN company ON co_id = s_co_id
    JOIN address AS co_ad ON co_ad.ad_id = co_ad_id
    JOIN zip_code AS co_zc ON co_zc.zc_code = co_ad.ad_zc_code
    JOIN exchange ON ex_id = s_ex_id
    JOIN address AS ex_ad ON ex_ad.ad_id = ex_ad_id
    JOIN zip_code AS ex_zc ON ex_zc.zc_code = ex_ad.ad_zc_code
    JOIN last_trade ON lt_s_symb = s_symb
    WHERE s_symb = given_symbol
  );
END
$$;
