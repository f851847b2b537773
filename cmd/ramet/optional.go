package main

// This file is about the parts that a program can be built without, by a build tag
// each: no_etcd, no_grpc, no_nats, no_otlp, no_postgres, no_s3. Each has a file with that part and
// one, named _off, that stands for it. docs/building.md says what they weigh.

// without names the parts that this program does not have.
var without []string
