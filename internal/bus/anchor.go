package bus

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// anchorEvery is after how many messages of a work queue its anchor is set anew: the file that holds it may have become full, and
// the next one has none. A file has room for thousands of messages.
const anchorEvery = 256

// anchor sets the anchor of a work queue anew, behind a message that has just been stored, if it is time. Which message that is
// follows from its sequence, so that of many processes one does it, with nothing to agree on. Nobody waits for it: without an
// anchor NATS is slower, and nothing else.
func (b *NATS) anchor(subject string, sequence uint64) {
	if sequence%anchorEvery != 1 {
		return
	}
	if anchor, ok := subjects.AnchorOf(subject); ok {
		_ = b.js.Conn().PublishMsg(&nats.Msg{
			Subject: anchor, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}},
		})
	}
}
