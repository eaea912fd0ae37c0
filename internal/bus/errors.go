package bus

import (
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Codes of errors of the JetStream API that nats.go does not name. No other package spells one.
const (
	// CodeNoPeers: there are fewer servers than replicas, or none with room.
	CodeNoPeers jetstream.ErrorCode = 10005
	// CodeNotLeader: the server that was asked is not the leader any more.
	CodeNotLeader jetstream.ErrorCode = 10009
	// CodeNoRoom: a server, or account, has no more bytes to set apart.
	CodeNoRoom jetstream.ErrorCode = 10047
	// CodeNotExpectedStream: another stream takes the subject of a message than the one that the message expects.
	CodeNotExpectedStream jetstream.ErrorCode = 10060
	// CodeSubjectsOverlap: the subjects are those of a stream that has not given them up yet.
	CodeSubjectsOverlap jetstream.ErrorCode = 10065
	// CodeReplicasUnsupported: the server is not part of a cluster.
	CodeReplicasUnsupported jetstream.ErrorCode = 10074
	// CodeStreamOffline: the stream cannot be used at present.
	CodeStreamOffline jetstream.ErrorCode = 10118
	// CodeAboveStreamLimit: the account allows a stream fewer bytes.
	CodeAboveStreamLimit jetstream.ErrorCode = 10122
	// CodeMoveInProgress: the replicas are being changed.
	CodeMoveInProgress jetstream.ErrorCode = 10124
	// CodeRestoredExists: somebody else has made a stream of the name that is to be restored.
	CodeRestoredExists jetstream.ErrorCode = 10130
)

// CodeOf returns the code that the server gave to an error; 0 if the error is not a refusal by a server.
func CodeOf(err error) jetstream.ErrorCode {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode
	}
	return 0
}

// IsWrongSequence reports whether the server refused a message because its subject, or the stream, is at another sequence than
// the message expects: somebody else was faster. The server has two codes for it, and a stream with several replicas may
// answer with either. The errors of nats.go would not do: creating a key over a deleted one returns what the server says.
func IsWrongSequence(err error) bool {
	code := CodeOf(err)
	return code == jetstream.JSErrCodeStreamWrongLastSequence || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}
