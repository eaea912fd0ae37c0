// Package natstest gives tests a NATS server, or a cluster of servers, to run against.
//
// Most tests want [Shared], the one server of their package, and [Names], a prefix of their own on it. A test that stops or
// loads its server uses [Server]. A test that kills a server, or needs three, uses [Cluster], whose nodes are processes of
// their own. Every package that uses any of these says
//
//	func TestMain(m *testing.M) { natstest.Main(m) }
//
// which also finds goroutines that the tests leave behind.
//
// Only tests import this package: it links the testing package, and everything it starts ends with the test.
//
// The package may import schedule, subjects, internal/bus and internal/natsserver.
package natstest
