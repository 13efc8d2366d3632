-- One transaction of your application, in the language of pgbench. `\sleep` stands for the time
-- that the application holds the connection without using it, here between two updates.
\set account random(1, 100000)
\set teller random(1, 10)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :account;
\sleep 2 ms
UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = :teller;
END;
