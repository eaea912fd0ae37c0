package jsmodel

import (
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// Codes of the server for its refusals. nats.go names few of them; a test compares them with those of the server.
const (
	codeWrongLastSequence                     = jetstream.JSErrCodeStreamWrongLastSequence
	codeRollupFailed      jetstream.ErrorCode = 10111
	codeTTLInvalid        jetstream.ErrorCode = 10165
	codeTTLDisabled       jetstream.ErrorCode = 10166
	codeSchedulesDisabled jetstream.ErrorCode = 10188
	codeScheduleInvalid   jetstream.ErrorCode = 10189
	codeTargetInvalid     jetstream.ErrorCode = 10190
	codeScheduleRollup    jetstream.ErrorCode = 10192
	codeSchedulerInvalid  jetstream.ErrorCode = 10212
)

// refusal is the error of a server that refuses a message.
func refusal(code jetstream.ErrorCode, description string) error {
	return &jetstream.APIError{Code: 400, ErrorCode: code, Description: description}
}

func wrongLastSequence(have uint64) error {
	return refusal(codeWrongLastSequence, "wrong last sequence: "+strconv.FormatUint(have, 10))
}
