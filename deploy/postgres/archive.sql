-- The roles of a PostgreSQL that the archive lies in. Run it as its superuser,
-- with the passwords changed, in the database of the archive; then start nodes
-- with the archive postgres://ramet_node:…@host/database.

-- The nodes: they make and change their tables themselves, in one schema.
CREATE ROLE ramet_node LOGIN PASSWORD 'change-me-node';
CREATE SCHEMA ramet AUTHORIZATION ramet_node;

-- Reports: they see the records of every context, and change nothing.
CREATE ROLE ramet_reader LOGIN PASSWORD 'change-me-reader';
GRANT USAGE ON SCHEMA ramet TO ramet_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE ramet_node IN SCHEMA ramet GRANT SELECT ON TABLES TO ramet_reader;
