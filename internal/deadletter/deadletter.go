// Package deadletter makes dead letters from messages that cannot be processed, for the dead letter streams, and lets a person
// handle them there (docs/dead-letters.md).
//
// [New] and [NewPlain] make the letter. Pools and workers decide when a message becomes one. A [Reader] lists letters, shows
// their contents, sends their messages again and removes them. It talks only to NATS, so that it works when nothing else does.
//
// The package may import schedule, subjects, internal/apitext, internal/bus, internal/codec, internal/events,
// internal/offer and internal/wire.
// It knows the kinds of messages, but not what the pools do with them.
//
// The writer of a letter can write anything into it, and workers are not trusted. So the package believes the headers and the
// body of a letter only within what its subject proves. Permissions of NATS can restrict who publishes on a subject.
package deadletter

import (
	"net/textproto"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// The headers of a dead letter. Its body and its other headers are those of the message that failed.
const (
	// HeaderReason is the reason, in one line of at most 1,024 bytes.
	HeaderReason = "Carillon-Reason"
	// HeaderSubject, HeaderStream and HeaderSequence are where the message was, HeaderDeliveries is how often it had been
	// delivered.
	HeaderSubject    = "Carillon-Origin-Subject"
	HeaderStream     = "Carillon-Origin-Stream"
	HeaderSequence   = "Carillon-Origin-Sequence"
	HeaderDeliveries = "Carillon-Deliveries"
	// HeaderSize is the size of the whole body in bytes. It is set if the body was cut because the letter would be larger than
	// NATS allows.
	HeaderSize = "Carillon-Origin-Size"
)

// maxReason limits the reason, in bytes, because a panic may carry anything.
const maxReason = 1024

// New returns the letter about a message of a stream. Publish it on the given subject. Its message ID makes a repeat harmless.
// maxPayload is the largest message that the server accepts, in bytes; a body that does not fit is cut.
func New(subject string, msg jetstream.Msg, meta *jetstream.MsgMetadata, cause error, maxPayload int64) *nats.Msg {
	letter := draft(subject, msg, meta, cause)
	letter.Header.Set(nats.MsgIdHdr, originOf(letter.Header).id())
	fit(letter, maxPayload)
	return letter
}

// NewPlain is New for the stream that workers write into. The letter has no message ID. Otherwise another worker could store a
// letter with the ID first, and this letter would vanish as its repeat. A letter that is stored twice does no harm, because its
// message is sent again only once.
func NewPlain(subject string, msg jetstream.Msg, meta *jetstream.MsgMetadata, cause error, maxPayload int64) *nats.Msg {
	letter := draft(subject, msg, meta, cause)
	fit(letter, min(maxPayload, subjects.MaxWorkerLetterBytes))
	return letter
}

func draft(subject string, msg jetstream.Msg, meta *jetstream.MsgMetadata, cause error) *nats.Msg {
	letter := nats.NewMsg(subject)
	letter.Data = msg.Data()
	letter.Header = ownHeaders(msg.Headers())
	sequence := strconv.FormatUint(meta.Sequence.Stream, 10)
	letter.Header.Set(HeaderReason, oneLine(cause.Error()))
	letter.Header.Set(HeaderSubject, msg.Subject())
	letter.Header.Set(HeaderStream, meta.Stream)
	letter.Header.Set(HeaderSequence, sequence)
	letter.Header.Set(HeaderDeliveries, strconv.FormatUint(meta.NumDelivered, 10))
	return letter
}

// ownHeaders returns the headers that belong to a message itself: not those that mean something to NATS, nor those of letters.
// NATS distinguishes names by their case, but readers of the headers may not.
func ownHeaders(header nats.Header) nats.Header {
	own := nats.Header{}
	for name, values := range header {
		switch plain := textproto.CanonicalMIMEHeaderKey(name); plain {
		case HeaderReason, HeaderSubject, HeaderStream, HeaderSequence, HeaderDeliveries, HeaderSize:
		default:
			if !strings.HasPrefix(plain, "Nats-") {
				own[name] = values
			}
		}
	}
	return own
}

// oneLine makes a text suitable for a header.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

// fit cuts the body of a letter that is larger than NATS allows. The message may have filled the limit, and the letter adds
// headers.
func fit(letter *nats.Msg, maxPayload int64) {
	const slack = 64 // for the header with the size
	excess := int64(letter.Size()) - maxPayload
	if excess <= 0 {
		return
	}
	letter.Header.Set(HeaderSize, strconv.Itoa(len(letter.Data)))
	letter.Data = letter.Data[:max(len(letter.Data)-int(excess)-slack, 0)]
}
