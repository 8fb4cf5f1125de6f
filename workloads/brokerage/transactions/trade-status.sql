-- Trade-Status: the owner, the broker, and the 50 newest trades of an account.
CREATE FUNCTION trade_status(account_id bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT json_build_object(
      'customerFirstName', c_f_name,
      'customerLastName', c_l_name,
      'brokerName', b_name,
      'trades', (
        SELECT coalesce(json_agg(line), '[]')
        FROM (
          SELECT t_id AS "tradeId", t_dts AS "time", st_name AS "statusName", tt_name AS "tradeTypeName",
                 t_s_symb AS "symbol", t_qty AS "quantity", t_exec_name AS "executorName",
                 t_chrg AS "charge", s_name AS "securityName", ex_name AS "exchangeName"
          FROM (
            SELECT * FROM trade WHERE t_ca_id = account_id ORDER BY t_dts DESC, t_id DESC LIMIT 50
          ) AS newest
          JOIN status_type ON st_id = t_st_id
          JOIN trade_type ON tt_id = t_tt_id
          JOIN security ON s_symb = t_s_symb
          JOIN exchange ON ex_id = s_ex_id
          ORDER BY t_dts DESC, t_id DESC
        ) AS line
      )
    )
    FROM customer_account
    JOIN customer ON c_id = ca_c_id
    JOIN broker ON b_id = ca_b_id
    WHERE ca_id = account_id
  );
END
$$;
