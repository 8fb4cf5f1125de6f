-- Trade-Result: the market has completed a trade; its account changes.

-- Frame 2: closes lots of the position, and opens one with the remaining quantity.
CREATE FUNCTION move_position(
  traded trade, is_sell boolean, trade_price bigint, at_time bigint, position_quantity integer,
  OUT buy_value bigint, OUT sell_value bigint
) LANGUAGE plpgsql AS $$
DECLARE
  signed_quantity CONSTANT integer := CASE WHEN is_sell THEN -traded.t_qty ELSE traded.t_qty END;
  needed integer := traded.t_qty;
  closed integer;
  left_over integer;
  lot record;
BEGIN
  buy_value := 0;
  sell_value := 0;
  IF is_sell = (position_quantity > 0) AND position_quantity <> 0 THEN
    FOR lot IN
      SELECT h_t_id, h_price, h_qty FROM holding
      WHERE h_ca_id = traded.t_ca_id AND h_s_symb = traded.t_s_symb AND (h_qty > 0) = is_sell
      ORDER BY CASE WHEN traded.t_lifo THEN -h_dts ELSE h_dts END,
               CASE WHEN traded.t_lifo THEN -h_t_id ELSE h_t_id END
    LOOP
      closed := least(needed, abs(lot.h_qty));
      left_over := lot.h_qty - sign(lot.h_qty)::integer * closed;
      INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty)
      VALUES (lot.h_t_id, traded.t_id, lot.h_qty, left_over);
      IF left_over = 0 THEN
        DELETE FROM holding WHERE h_t_id = lot.h_t_id;
      ELSE
        UPDATE holding SET h_qty = left_over WHERE h_t_id = lot.h_t_id;
      END IF;
      buy_value := buy_value + closed * CASE WHEN is_sell THEN lot.h_price ELSE trade_price END;
      sell_value := sell_value + closed * CASE WHEN is_sell THEN trade_price ELSE lot.h_price END;
      needed := needed - closed;
      EXIT WHEN needed = 0;
    END LOOP;
  END IF;

  IF needed > 0 THEN
    left_over := CASE WHEN is_sell THEN -needed ELSE needed END;
    INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty)
    VALUES (traded.t_id, traded.t_id, 0, left_over);
    INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty)
    VALUES (traded.t_id, traded.t_ca_id, traded.t_s_symb, at_time, trade_price, left_over);
  END IF;

  IF position_quantity = 0 THEN
    -- If another trade has opened the position since our snapshot, ON CONFLICT turns this into a
    -- failure that is retried.
    INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty)
    VALUES (traded.t_ca_id, traded.t_s_symb, signed_quantity)
    ON CONFLICT DO NOTHING;
  ELSIF position_quantity + signed_quantity = 0 THEN
    DELETE FROM holding_summary WHERE hs_ca_id = traded.t_ca_id AND hs_s_symb = traded.t_s_symb;
  ELSE
    UPDATE holding_summary SET hs_qty = position_quantity + signed_quantity
    WHERE hs_ca_id = traded.t_ca_id AND hs_s_symb = traded.t_s_symb;
  END IF;
END
$$;

CREATE FUNCTION trade_result(
  trade_id bigint, trade_price bigint, at_time bigint, update_broker boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  traded trade;
  type trade_type;
  account customer_account;
  position_quantity integer;
  buy_value bigint;
  sell_value bigint;
  tax_amount bigint := 0;
  security_name text;
  rate integer;
  commission bigint;
  settlement_amount bigint;
  balance bigint;
BEGIN
  -- Frame 1.
  SELECT * INTO STRICT traded FROM trade WHERE t_id = trade_id;
  SELECT * INTO STRICT type FROM trade_type WHERE tt_id = traded.t_tt_id;
  SELECT hs_qty INTO position_quantity
  FROM holding_summary
  WHERE hs_ca_id = traded.t_ca_id AND hs_s_symb = traded.t_s_symb;
  position_quantity := coalesce(position_quantity, 0);

  -- Frame 2.
  SELECT * INTO STRICT account FROM customer_account WHERE ca_id = traded.t_ca_id;
  SELECT moved.buy_value, moved.sell_value INTO buy_value, sell_value
  FROM move_position(traded, type.tt_is_sell, trade_price, at_time, position_quantity) AS moved;

  -- Frame 3; frame 5 writes its result.
  IF account.ca_tax_st IN (1, 2) AND sell_value > buy_value THEN
    SELECT ((sell_value - buy_value) * sum(tx_rate) + 50000) / 100000 INTO tax_amount
    FROM customer_taxrate
    JOIN taxrate ON tx_id = cx_tx_id
    WHERE cx_c_id = account.ca_c_id;
  END IF;

  -- Frame 4.
  SELECT s_name, cr_rate INTO STRICT security_name, rate
  FROM security
  JOIN customer ON c_id = account.ca_c_id
  JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = traded.t_tt_id AND cr_ex_id = s_ex_id
    AND cr_from_qty <= traded.t_qty AND cr_to_qty >= traded.t_qty
  WHERE s_symb = traded.t_s_symb;
  commission := (rate * traded.t_qty * trade_price + 5000) / 10000;

  -- Frame 5.
  UPDATE trade
  SET t_comm = commission, t_dts = at_time, t_st_id = 'CMPT', t_trade_price = trade_price, t_tax = tax_amount
  WHERE t_id = trade_id;
  INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (trade_id, at_time, 'CMPT');

  -- Frame 6.
  settlement_amount :=
    CASE WHEN type.tt_is_sell THEN traded.t_qty * trade_price - traded.t_chrg - commission
    ELSE -(traded.t_qty * trade_price + traded.t_chrg + commission) END
    - CASE WHEN account.ca_tax_st = 1 THEN tax_amount ELSE 0 END;
  INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt)
  VALUES (
    trade_id, CASE WHEN traded.t_is_cash THEN 'Cash Account' ELSE 'Margin' END,
    at_time + 2 * 86400000, settlement_amount
  );
  balance := account.ca_bal;
  IF traded.t_is_cash THEN
    UPDATE customer_account SET ca_bal = ca_bal + settlement_amount
    WHERE ca_id = traded.t_ca_id
    RETURNING ca_bal INTO balance;
    INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name)
    VALUES (
      trade_id, at_time, settlement_amount,
      type.tt_name || ' ' || traded.t_qty || ' shares of ' || security_name
    );
  END IF;

  -- Part of frame 5, but last: other transactions wait for the row of the broker.
  IF update_broker THEN
    UPDATE broker SET b_comm_total = b_comm_total + commission, b_num_trades = b_num_trades + 1
    WHERE b_id = account.ca_b_id;
  END IF;

  RETURN json_build_object(
    'frame1', json_build_object(
      'accountId', traded.t_ca_id,
      'symbol', traded.t_s_symb,
      'tradeTypeId', traded.t_tt_id,
      'tradeTypeName', type.tt_name,
      'isSell', type.tt_is_sell,
      'isMarket', type.tt_is_mrkt,
      'isLifo', traded.t_lifo,
      'isCash', traded.t_is_cash,
      'quantity', traded.t_qty,
      'charge', traded.t_chrg,
      'positionQuantity', position_quantity
    ),
    'frame2', json_build_object(
      'brokerId', account.ca_b_id,
      'customerId', account.ca_c_id,
      'taxStatus', account.ca_tax_st,
      'buyValue', buy_value,
      'sellValue', sell_value
    ),
    'frame3', json_build_object('taxAmount', tax_amount),
    'frame4', json_build_object('securityName', security_name, 'commissionRate', rate),
    'frame5', json_build_object('commission', commission),
    'frame6', json_build_object('settlementAmount', settlement_amount, 'accountBalance', balance)
  );
END
$$;
