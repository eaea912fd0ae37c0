// Package objectstore makes a bucket of JetStream's object store a bucket of gocloud.dev/blob.
//
// The contents are objects of the object store: the nats command and every client of NATS read them. The object store finds
// an object by its whole name only: to list it would mean to read about all of its objects. So a key-value bucket beside it has the names, one key for
// each object, and NATS finds those that begin alike.
//
// An object is written first and named second, and removed in the other order. So each name that a list shows has its object. After a crash in between,
// there may be an object without a name; to write it again heals that.
//
// Every read but a list asks the leader of the stream, so it sees what was written before. The digest of an object is checked when it is read.
//
// The package knows no archive. It may import subjects and internal/bus.
package objectstore
