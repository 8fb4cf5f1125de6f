-- Trade-Order: a customer, or another person with permission, buys or sells a security.

-- Frame 3: the values of the lots that the trade would close, at its price.
CREATE FUNCTION estimated_values(
  account_id bigint, of_symbol text, is_sell boolean, is_lifo boolean, quantity integer, price bigint,
  OUT buy_value bigint, OUT sell_value bigint
) LANGUAGE plpgsql STABLE AS $$
DECLARE
  needed integer := quantity;
  closed integer;
  lot record;
BEGIN
  buy_value := 0;
  sell_value := 0;
  FOR lot IN
    SELECT h_price, h_qty FROM holding
    WHERE h_ca_id = account_id AND h_s_symb = of_symbol AND (h_qty > 0) = is_sell
    ORDER BY CASE WHEN is_lifo THEN -h_dts ELSE h_dts END, CASE WHEN is_lifo THEN -h_t_id ELSE h_t_id END
  LOOP
    closed := least(needed, abs(lot.h_qty));
    buy_value := buy_value + closed * CASE WHEN is_sell THEN lot.h_price ELSE price END;
    sell_value := sell_value + closed * CASE WHEN is_sell THEN price ELSE lot.h_price END;
    needed := needed - closed;
    EXIT WHEN needed = 0;
  END LOOP;
END
$$;

-- Frame 4.
CREATE FUNCTION insert_order(placed trade, broker_id bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO trade SELECT placed.*;
  INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
  VALUES (placed.t_id, placed.t_dts, placed.t_st_id);
  IF placed.t_st_id = 'PNDG' THEN
    INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id)
    VALUES (
      placed.t_id, placed.t_tt_id, placed.t_s_symb, placed.t_qty, placed.t_bid_price, broker_id
    );
  END IF;
END
$$;

CREATE FUNCTION trade_order(
  trade_id bigint, at_time bigint, account_id bigint,
  executor_first_name text, executor_last_name text, executor_tax_id text,
  given_symbol text, company_name text, given_issue text,
  trade_type_id text, quantity integer, requested_price bigint,
  is_lifo boolean, is_margin boolean, roll_back boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  account record;
  traded record;
  placed trade;
  permission_acl text;
  frame1 json;
  frame2 json;
  is_market boolean;
  is_sell boolean;
  position_quantity integer;
  buy_value bigint := 0;
  sell_value bigint := 0;
  tax_amount bigint := 0;
  commission_rate integer;
  commission bigint;
  charge_amount bigint;
  account_assets bigint := 0;
  status_id text;
BEGIN
  -- Frame 1.
  SELECT ca_name, ca_b_id, ca_c_id, ca_tax_st, ca_bal, b_name, c_f_name, c_l_name, c_tax_id, c_tier
  INTO STRICT account
  FROM customer_account
  JOIN customer ON c_id = ca_c_id
  JOIN broker ON b_id = ca_b_id
  WHERE ca_id = account_id;
  frame1 := json_build_object(
    'accountName', account.ca_name,
    'brokerId', account.ca_b_id,
    'brokerName', account.b_name,
    'customerId', account.ca_c_id,
    'customerFirstName', account.c_f_name,
    'customerLastName', account.c_l_name,
    'customerTaxId', account.c_tax_id,
    'customerTier', account.c_tier,
    'taxStatus', account.ca_tax_st
  );

  -- Frame 2.
  IF (executor_first_name, executor_last_name, executor_tax_id)
     <> (account.c_f_name, account.c_l_name, account.c_tax_id) THEN
    SELECT ap_acl INTO permission_acl
    FROM account_permission
    WHERE ap_ca_id = account_id AND ap_tax_id = executor_tax_id
      AND ap_f_name = executor_first_name AND ap_l_name = executor_last_name;
    IF NOT FOUND THEN
      RETURN json_build_object(
        'outcome', 'denied', 'frame1', frame1, 'frame2', NULL, 'frame3', NULL
      );
    END IF;
    frame2 := json_build_object('acl', permission_acl);
  END IF;

  -- Frame 3.
  IF given_symbol IS NOT NULL THEN
    SELECT s_symb, s_name, s_ex_id, co_name, lt_price INTO STRICT traded
    FROM security
    JOIN company ON co_id = s_co_id
    JOIN last_trade ON lt_s_symb = s_symb
    WHERE s_symb = given_symbol;
  ELSE
    SELECT s_symb, s_name, s_ex_id, co_name, lt_price INTO STRICT traded
    FROM company
    JOIN security ON s_co_id = co_id AND s_issue = given_issue
    JOIN last_trade ON lt_s_symb = s_symb
    WHERE co_name = company_name;
  END IF;
  SELECT tt_is_mrkt, tt_is_sell INTO STRICT is_market, is_sell
  FROM trade_type
  WHERE tt_id = trade_type_id;
  IF is_market THEN
    requested_price := traded.lt_price;
  END IF;
  status_id := CASE WHEN is_market THEN 'SBMT' ELSE 'PNDG' END;

  SELECT hs_qty INTO position_quantity
  FROM holding_summary
  WHERE hs_ca_id = account_id AND hs_s_symb = traded.s_symb;
  IF is_sell = (position_quantity > 0) THEN
    SELECT estimate.buy_value, estimate.sell_value INTO buy_value, sell_value
    FROM estimated_values(
      account_id, traded.s_symb, is_sell, is_lifo, quantity, requested_price
    ) AS estimate;
  END IF;
  IF sell_value > buy_value AND account.ca_tax_st IN (1, 2) THEN
    SELECT ((sell_value - buy_value) * sum(tx_rate) + 50000) / 100000 INTO tax_amount
    FROM customer_taxrate
    JOIN taxrate ON tx_id = cx_tx_id
    WHERE cx_c_id = account.ca_c_id;
  END IF;

  SELECT cr_rate INTO STRICT commission_rate
  FROM commission_rate
  WHERE cr_c_tier = account.c_tier AND cr_tt_id = trade_type_id AND cr_ex_id = traded.s_ex_id
    AND cr_from_qty <= quantity AND cr_to_qty >= quantity;
  commission := (commission_rate * quantity * requested_price + 5000) / 10000;
  SELECT ch_chrg INTO STRICT charge_amount
  FROM charge
  WHERE ch_tt_id = trade_type_id AND ch_c_tier = account.c_tier;
  IF is_margin THEN
    SELECT account.ca_bal + coalesce(sum(hs_qty * lt_price), 0) INTO account_assets
    FROM holding_summary
    JOIN last_trade ON lt_s_symb = hs_s_symb
    WHERE hs_ca_id = account_id;
  END IF;

  -- Frame 4; frame 5 undoes it, if requested. Only then is there a subtransaction, which has a
  -- cost.
  placed.t_id := trade_id;
  placed.t_dts := at_time;
  placed.t_st_id := status_id;
  placed.t_tt_id := trade_type_id;
  placed.t_is_cash := NOT is_margin;
  placed.t_s_symb := traded.s_symb;
  placed.t_qty := quantity;
  placed.t_bid_price := requested_price;
  placed.t_ca_id := account_id;
  placed.t_exec_name := executor_first_name || ' ' || executor_last_name;
  placed.t_chrg := charge_amount;
  placed.t_comm := commission;
  placed.t_tax := 0;
  placed.t_lifo := is_lifo;
  IF roll_back THEN
    BEGIN
      PERFORM insert_order(placed, account.ca_b_id);
      RAISE SQLSTATE 'UNDO5';
    EXCEPTION
      WHEN SQLSTATE 'UNDO5' THEN NULL;
    END;
  ELSE
    PERFORM insert_order(placed, account.ca_b_id);
  END IF;

  RETURN json_build_object(
    'outcome', CASE WHEN roll_back THEN 'rolled back' ELSE 'committed' END,
    'frame1', frame1,
    'frame2', frame2,
    'frame3', json_build_object(
      'companyName', traded.co_name,
      'securityName', traded.s_name,
      'symbol', traded.s_symb,
      'requestedPrice', requested_price,
      'marketPrice', traded.lt_price,
      'isMarket', is_market,
      'isSell', is_sell,
      'statusId', status_id,
      'buyValue', buy_value,
      'sellValue', sell_value,
      'taxAmount', tax_amount,
      'commissionRate', commission_rate,
      'commission', commission,
      'chargeAmount', charge_amount,
      'accountAssets', account_assets
    )
  );
END
$$;
