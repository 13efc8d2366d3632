\set account random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :account;
\set uniform random(1, 1000000)
\set pause_us int(-ln(:uniform / 1000000.0) * :think_s * 1000000)
\sleep :pause_us us
