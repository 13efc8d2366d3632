-- One transaction of your application, in the language of pgbench. It holds a row that one in five
-- transactions wants, and `\sleep` stands for the time that the application takes meanwhile.
\set account random(1, 100000)
\set teller random(1, 5)
BEGIN;
UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = :teller;
\sleep 4 ms
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :account;
END;
