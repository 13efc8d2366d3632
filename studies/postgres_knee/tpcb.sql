\set account random(1, 100000 * :scale)
\set teller random(1, 10 * :scale)
\set branch random(1, :scale)
\set amount random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :amount WHERE aid = :account;
SELECT abalance FROM pgbench_accounts WHERE aid = :account;
UPDATE pgbench_tellers SET tbalance = tbalance + :amount WHERE tid = :teller;
UPDATE pgbench_branches SET bbalance = bbalance + :amount WHERE bid = :branch;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:teller, :branch, :account, :amount, CURRENT_TIMESTAMP);
END;
\set uniform random(1, 1000000)
\set pause_us int(-ln(:uniform / 1000000.0) * :think_s * 1000000)
\sleep :pause_us us
