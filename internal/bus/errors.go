package bus

import (
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Codes of errors of the JetStream API that nats.go does not name. No other package spells one.
const (
	// CodeNoPeers: there are fewer servers than replicas, or no server has room.
	CodeNoPeers jetstream.ErrorCode = 10005
	// CodeNotLeader: the server is no longer the leader.
	CodeNotLeader jetstream.ErrorCode = 10009
	// CodeConsumerNotMade: the server failed to make a consumer. This happens to one that is made again right after its deletion: the server
	// may still be writing the state of the deleted one to the same file. The next attempt succeeds.
	CodeConsumerNotMade jetstream.ErrorCode = 10012
	// CodeNoRoom: a server or account has no more bytes to reserve.
	CodeNoRoom jetstream.ErrorCode = 10047
	// CodeNotExpectedStream: the message expects one stream, but another stream has its subject.
	CodeNotExpectedStream jetstream.ErrorCode = 10060
	// CodeSubjectsOverlap: another stream still has some of the subjects.
	CodeSubjectsOverlap jetstream.ErrorCode = 10065
	// CodeReplicasUnsupported: the server is not part of a cluster.
	CodeReplicasUnsupported jetstream.ErrorCode = 10074
	// CodeStreamOffline: the stream cannot be used at present.
	CodeStreamOffline jetstream.ErrorCode = 10118
	// CodeAboveStreamLimit: the account allows a stream fewer bytes.
	CodeAboveStreamLimit jetstream.ErrorCode = 10122
	// CodeMoveInProgress: the replicas are being changed.
	CodeMoveInProgress jetstream.ErrorCode = 10124
	// CodeRestoredExists: a stream with the name of the restored one exists already.
	CodeRestoredExists jetstream.ErrorCode = 10130
)

// CodeOf returns the server's code of an error, or 0 if the error is not a refusal by a server.
func CodeOf(err error) jetstream.ErrorCode {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode
	}
	return 0
}

// IsWrongSequence reports whether the server refused a message because its subject or stream is at another sequence than the message
// expects: another writer was faster. The server has two codes for it, and a stream with several replicas may answer with either.
// Comparing with the errors of nats.go is not enough, because creating a key over a deleted one returns the server's own error.
func IsWrongSequence(err error) bool {
	code := CodeOf(err)
	return code == jetstream.JSErrCodeStreamWrongLastSequence || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}
