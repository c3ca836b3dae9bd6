CREATE TABLE inventory.outbox (
    id uuid PRIMARY KEY, aggregatetype text, aggregateid text, type text, payload jsonb
);
GRANT SELECT ON inventory.outbox TO cdc;
CREATE PUBLICATION outbox FOR TABLE inventory.outbox WITH (publish = 'insert');
