package bus

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// decode reads a server's answer to a message for a stream.
func decode(msg *nats.Msg) ackAnswer {
	if NobodyListens(msg) {
		return ackAnswer{err: jetstream.ErrNoStreamResponse}
	}
	if sequence, ok := scan(msg.Data); ok {
		return ackAnswer{sequence: sequence}
	}
	return decodeJSON(msg.Data)
}

// decodeJSON reads an acknowledgement or a refusal of any form.
func decodeJSON(data []byte) ackAnswer {
	var ack struct {
		// Type is set in answers of the JetStream API. An acknowledgement has none.
		Type     string              `json:"type"`
		Error    *jetstream.APIError `json:"error"`
		Stream   string              `json:"stream"`
		Sequence uint64              `json:"seq"`
		Repeated bool                `json:"duplicate"`
	}
	switch err := json.Unmarshal(data, &ack); {
	case err != nil, ack.Type != "":
		return ackAnswer{err: jetstream.ErrInvalidJSAck}
	case ack.Error != nil && ack.Error.ErrorCode != 0:
		return ackAnswer{err: ack.Error}
	case ack.Stream == "":
		return ackAnswer{err: jetstream.ErrInvalidJSAck}
	}
	return ackAnswer{sequence: ack.Sequence, repeated: ack.Repeated}
}

// scan reads an ordinary acknowledgement as servers write it: {"stream":"S","seq":12}. decodeJSON reads all others.
func scan(data []byte) (sequence uint64, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"stream":"`))
	if !ok {
		return 0, false
	}
	name := bytes.IndexByte(rest, '"')
	if name < 1 || bytes.IndexByte(rest[:name], '\\') >= 0 {
		return 0, false
	}
	rest, ok = bytes.CutPrefix(rest[name+1:], []byte(`,"seq":`))
	if !ok {
		return 0, false
	}
	digits, ok := bytes.CutSuffix(rest, []byte("}"))
	if !ok || len(digits) == 0 || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	sequence, err := strconv.ParseUint(string(digits), 10, 64)
	return sequence, err == nil
}
