package jsmodel

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Server is a JetStream server, or a cluster of servers that agree. It is not safe for concurrent use.
type Server struct {
	streams map[string]*stream
	names   []string // of the streams, in order
}

// New returns a server with streams, and no messages.
func New(streams ...jetstream.StreamConfig) *Server {
	s := &Server{streams: map[string]*stream{}}
	for _, config := range streams {
		s.streams[config.Name] = newStream(config)
	}
	s.names = slices.Sorted(maps.Keys(s.streams))
	return s
}

// Bucket is the configuration of the stream behind a KV bucket, as nats.go makes it.
func Bucket(config jetstream.KeyValueConfig) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + config.Bucket, Subjects: []string{"$KV." + config.Bucket + ".>"},
		MaxMsgsPerSubject: max(int64(config.History), 1), AllowRollup: true, DenyDelete: true, AllowDirect: true,
		Duplicates: 2 * time.Minute, AllowMsgTTL: config.LimitMarkerTTL > 0, Discard: jetstream.DiscardNew,
	}
}

// AddConsumer adds a consumer to a stream. An existing one stays as it is.
func (s *Server) AddConsumer(stream string, config jetstream.ConsumerConfig) {
	st := s.streams[stream]
	if st.consumers[config.Durable] == nil {
		c := newConsumer(st, config)
		for _, m := range st.inOrder() {
			if c.wants(m.Subject) {
				c.fresh = append(c.fresh, m.Sequence)
			}
		}
		st.consumers[config.Durable] = c
	}
}

// Ack is the answer to a publish.
type Ack struct {
	Stream    string
	Sequence  uint64
	Duplicate bool
}

// Publish stores a message. The error is nats.ErrNoResponders if no stream has its subject, or the error of the server.
func (s *Server) Publish(now time.Time, msg *nats.Msg) (Ack, error) {
	for _, name := range s.names {
		if st := s.streams[name]; st.takes(msg.Subject) {
			return st.publish(now, msg)
		}
	}
	return Ack{}, nats.ErrNoResponders
}

// Message is a stored message.
type Message struct {
	Sequence uint64
	Subject  string
	Header   nats.Header
	Data     []byte
	Stored   time.Time
}

// Last returns the last message of a subject.
func (s *Server) Last(stream, subject string) (Message, bool) {
	m := s.streams[stream].last(subject)
	if m == nil {
		return Message{}, false
	}
	return m.Message, true
}

// LastAt returns the last message of a subject as a replica knows it that has seen only the messages up to a sequence. It is
// meant for streams whose messages are replaced, and not removed.
func (s *Server) LastAt(stream, subject string, sequence uint64) (Message, bool) {
	m := s.streams[stream].last(subject)
	for m != nil && m.Sequence > sequence {
		m = m.before
	}
	if m == nil {
		return Message{}, false
	}
	return m.Message, true
}

// MessagesAt returns the last messages of all subjects that match a filter, in order of their sequences, as a replica knows
// them that has seen only the messages up to a sequence. It is meant for the same streams as LastAt.
func (s *Server) MessagesAt(stream, filter string, sequence uint64) []Message {
	var found []Message
	for subject := range s.streams[stream].subjects {
		if !Matches(filter, subject) {
			continue
		}
		if m, ok := s.LastAt(stream, subject, sequence); ok {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b Message) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return found
}

// LastSequence is the sequence of the newest message a stream has ever had.
func (s *Server) LastSequence(stream string) uint64 { return s.streams[stream].sequence }

// Messages returns the messages of a stream whose subjects match a filter, the oldest first.
func (s *Server) Messages(stream, filter string) []Message {
	var found []Message
	for _, m := range s.streams[stream].inOrder() {
		if Matches(filter, m.Subject) {
			found = append(found, m.Message)
		}
	}
	return found
}

// OfSubject returns the messages of a subject, the oldest first.
func (s *Server) OfSubject(stream, subject string) []Message {
	var found []Message
	for _, m := range s.streams[stream].subjects[subject] {
		found = append(found, m.Message)
	}
	return found
}

// Remove removes a message, and reports whether it was there.
func (s *Server) Remove(stream string, sequence uint64) bool {
	st := s.streams[stream]
	m := st.messages[sequence]
	if m == nil {
		return false
	}
	st.remove(m)
	return true
}

// Purge removes the messages of a subject.
func (s *Server) Purge(stream, subject string) { s.streams[stream].purge(subject) }

// Advance does what the passing of time does: it expires messages and message IDs.
func (s *Server) Advance(now time.Time) {
	for _, name := range s.names {
		s.streams[name].expire(now)
	}
}

// Due returns the delayed messages whose time has come, in order. They stay until [Server.Fire] delivers them: the server finds
// out what is due, and stores it, one after the other.
func (s *Server) Due(now time.Time) []Message {
	var due []Message
	for _, name := range s.names {
		due = append(due, s.streams[name].due(now)...)
	}
	return due
}

// Next returns when the next delayed message is due; zero if there is none.
func (s *Server) Next() time.Time {
	var next time.Time
	for _, name := range s.names {
		for _, at := range s.streams[name].delayed {
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// Fire stores what a delayed message asks for. due is the message that was due; it may have been replaced since.
func (s *Server) Fire(now time.Time, due Message) {
	header := nats.Header{}
	for name, values := range due.Header {
		if !strings.HasPrefix(name, headerSchedule) && !strings.HasPrefix(name, "Nats-Expected-") &&
			name != jetstream.MsgIDHeader && name != jetstream.MsgTTLHeader && name != jetstream.MsgRollup {
			header[name] = values
		}
	}
	header.Set(headerScheduler, due.Subject)
	header.Set(headerNext, nextPurge)
	msg := &nats.Msg{Subject: due.Header.Get(headerTarget), Header: header, Data: due.Data}
	// The server does not check what it fires itself.
	for _, name := range s.names {
		if st := s.streams[name]; st.takes(msg.Subject) {
			st.store(now, msg)
			return
		}
	}
}

// Matches reports whether a subject matches a filter with wildcards.
func Matches(filter, subject string) bool {
	for {
		want, restFilter, moreFilter := strings.Cut(filter, ".")
		have, restSubject, moreSubject := strings.Cut(subject, ".")
		switch {
		case want == ">":
			return have != ""
		case want != "*" && want != have:
			return false
		case !moreFilter || !moreSubject:
			return moreFilter == moreSubject
		}
		filter, subject = restFilter, restSubject
	}
}
