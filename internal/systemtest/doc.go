// Package systemtest tests Carillon as a whole: every role over a real NATS server, one node and three, with servers and
// processes killed in the middle of their work. What ran is compared with what the specs say.
//
// There is nothing here but tests.
//
// The package may import everything.
package systemtest
