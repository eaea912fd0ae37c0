// Package natsstats observes NATS for the metrics of a process: its connection, and the streams and consumers of the
// installation. Package metrics defines the metrics.
//
// It asks JetStream only while metrics are collected, and not again within 10 s. It may import subjects and internal/metrics.
package natsstats
