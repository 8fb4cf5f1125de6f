-- Customer-Position: a customer with the accounts and their values, and on request one account's
-- history.
CREATE FUNCTION customer_position(customer_id bigint, tax_id text, history_of integer)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  person customer;
  account_ids bigint[];
  accounts json;
  history json;
BEGIN
  IF customer_id IS NOT NULL THEN
    SELECT * INTO STRICT person FROM customer WHERE c_id = customer_id;
  ELSE
    SELECT * INTO STRICT person FROM customer WHERE c_tax_id = tax_id;
  END IF;

  SELECT coalesce(json_agg(line), '[]'), array_agg("accountId") INTO accounts, account_ids
  FROM (
    SELECT ca_id AS "accountId", ca_bal AS "balance",
           coalesce(sum(hs_qty * lt_price), 0)::bigint AS "assets"
    FROM customer_account
    LEFT JOIN holding_summary ON hs_ca_id = ca_id
    LEFT JOIN last_trade ON lt_s_symb = hs_s_symb
    WHERE ca_c_id = person.c_id
    GROUP BY ca_id
    ORDER BY "assets", ca_id
    LIMIT 10
  ) AS line;

  IF history_of IS NOT NULL THEN
    SELECT coalesce(json_agg(line), '[]') INTO history
    FROM (
      SELECT t_id AS "tradeId", t_s_symb AS "symbol", t_qty AS "quantity",
             st_name AS "statusName", th_dts AS "time"
      FROM (
        SELECT t_id, t_dts, t_s_symb, t_qty FROM trade
        WHERE t_ca_id = account_ids[1 + history_of % cardinality(account_ids)]
        ORDER BY t_dts DESC, t_id DESC
        LIMIT 10
      ) AS newest
      JOIN trade_history ON th_t_id = t_id
      JOIN status_type ON st_id = th_st_id
      ORDER BY t_dts DESC, t_id DESC, th_dts DESC, th_st_id DESC
      LIMIT 30
    ) AS line;
  END IF;

  RETURN json_build_object(
    'frame1', json_build_object(
      'customerId', person.c_id,
      'taxId', person.c_tax_id,
      'statusId', person.c_st_id,
      'lastName', person.c_l_name,
      'firstName', person.c_f_name,
      'middleName', person.c_m_name,
      'gender', person.c_gndr,
      'tier', person.c_tier,
      'birthday', person.c_dob,
      'addressId', person.c_ad_id,
      'phones', json_build_array(
        json_build_array(person.c_ctry_1, person.c_area_1, person.c_local_1, person.c_ext_1),
        json_build_array(person.c_ctry_2, person.c_area_2, person.c_local_2, person.c_ext_2),
        json_build_array(person.c_ctry_3, person.c_area_3, person.c_local_3, person.c_ext_3)
      ),
      'emails', json_build_array(person.c_email_1, person.c_email_2),
      'accounts', accounts
    ),
    'frame2', history
  );
END
$$;
