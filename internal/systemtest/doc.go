// Package systemtest tests Carillon as a whole: every role over a real NATS server, with one node and with three, while servers
// and processes are killed in the middle of their work. The runs are compared with what the specs say.
//
// It contains only tests.
//
// The package may import everything.
package systemtest
