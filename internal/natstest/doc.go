// Package natstest gives tests a NATS server, or a cluster of them, to run against.
//
// Most tests want [Shared], the one server of their package, and [Names], a prefix that is theirs alone on it. A test
// that stops or loads its server takes [Server]. A test that kills a server, or needs three, takes [Cluster], whose
// nodes are processes of their own. Every package that uses any of it says
//
//	func TestMain(m *testing.M) { natstest.Main(m) }
//
// which also finds goroutines the tests leave behind.
//
// Only tests import this package: it links the testing package, and whatever it starts ends with the test.
//
// The package may import schedule, subjects, internal/bus and internal/natsserver.
package natstest
