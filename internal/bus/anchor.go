package bus

import (
	"math"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// anchorEvery is after how many messages of a work queue its anchor is set anew, on average: the file that holds it may have become
// full, and the next one has none. A file has room for thousands of messages.
const anchorEvery = 128

// anchor sets the anchor of a work queue anew, behind a message that has just been stored, if it is time. Which message that is
// follows from its sequence, so that of many processes one does it, with nothing to agree on. Nobody waits for it: without an
// anchor NATS is slower, and nothing else. Behind a completion, which a worker has stored, whoever takes it sets the anchor.
func (b *NATS) anchor(subject string, sequence uint64) {
	if !anchors(sequence) {
		return
	}
	if anchor, ok := subjects.AnchorOf(subject); ok {
		_ = b.js.Conn().PublishMsg(anchorMessage(anchor))
	}
}

// anchorBehind is anchor for a message that somebody else has stored.
func (b *NATS) anchorBehind(msg jetstream.Msg) {
	if meta, err := msg.Metadata(); err == nil {
		b.anchor(msg.Subject(), meta.Sequence.Stream)
	}
}

// anchorMessage replaces the anchor before. A callback stream keeps one message for each subject, and takes no header for that.
func anchorMessage(subject string) *nats.Msg {
	if strings.Contains(subject, ".callback.") {
		return &nats.Msg{Subject: subject}
	}
	return &nats.Msg{Subject: subject, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
}

// anchors reports whether an anchor follows the message with a sequence. The first is one of them. The distances to the next are not
// all the same, as multiples would be: workers set no anchors, and the sequences that are left to others may all be odd, or have
// another period, for as long as messages come in turns. Multiples of the golden ratio, the part behind the point, have no period, and
// spread evenly nevertheless.
func anchors(sequence uint64) bool {
	const golden = 0x9e3779b97f4a7c15 // of 2^64
	return (sequence-1)*golden < math.MaxUint64/anchorEvery
}
