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

type message struct {
	Message
	// before is the message that this one has replaced on its subject.
	before *message
	// expires is when it goes by itself; zero for never.
	expires time.Time
}

type stream struct {
	config    jetstream.StreamConfig
	sequence  uint64
	messages  map[uint64]*message
	subjects  map[string][]*message // of each subject, the oldest first
	consumers map[string]*consumer
	ids       map[string]remembered
	delayed   map[uint64]time.Time // when delayed messages are due
	// expiry is when the next message or message ID may expire; zero for never.
	expiry time.Time
}

// remembered is a message ID within the de-duplication window.
type remembered struct {
	sequence uint64
	at       time.Time
}

func newStream(config jetstream.StreamConfig) *stream {
	return &stream{
		config: config, messages: map[uint64]*message{}, subjects: map[string][]*message{},
		consumers: map[string]*consumer{}, ids: map[string]remembered{}, delayed: map[uint64]time.Time{},
	}
}

func (st *stream) takes(subject string) bool {
	return slices.ContainsFunc(st.config.Subjects, func(filter string) bool { return Matches(filter, subject) })
}

func (st *stream) last(subject string) *message {
	if all := st.subjects[subject]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

func (st *stream) inOrder() []*message {
	return slices.SortedFunc(maps.Values(st.messages), func(a, b *message) int { return cmp.Compare(a.Sequence, b.Sequence) })
}

// publish stores a message unless a check fails or it is a repeat.
func (st *stream) publish(now time.Time, msg *nats.Msg) (Ack, error) {
	ack := Ack{Stream: st.config.Name}
	if err := st.check(msg); err != nil {
		return ack, err
	}
	if id := msg.Header.Get(jetstream.MsgIDHeader); id != "" {
		if known, ok := st.ids[id]; ok && now.Sub(known.at) < st.config.Duplicates {
			ack.Sequence, ack.Duplicate = known.sequence, true
			return ack, nil
		}
	}
	if err := st.checkRest(msg); err != nil {
		return ack, err
	}
	ack.Sequence = st.store(now, msg)
	return ack, nil
}

// store stores a message without a check, and does what its headers ask for.
func (st *stream) store(now time.Time, msg *nats.Msg) uint64 {
	st.sequence++
	m := &message{
		Message: Message{Sequence: st.sequence, Subject: msg.Subject, Header: maps.Clone(msg.Header), Data: msg.Data, Stored: now},
		before:  st.last(msg.Subject),
	}
	at, err := delay(m.Header)
	if delayed := err == nil && !at.IsZero(); delayed {
		st.delayed[m.Sequence] = at
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject) // as the server does
	}
	m.expires = st.expires(m)
	st.expireBy(m.expires)
	if rollupOf(m.Header) == jetstream.MsgRollupSubject {
		st.purge(msg.Subject)
	}
	for _, c := range st.consumers {
		if c.wants(msg.Subject) {
			c.fresh = append(c.fresh, m.Sequence)
		}
	}
	st.messages[m.Sequence] = m
	st.subjects[msg.Subject] = append(st.subjects[msg.Subject], m)
	if most := st.config.MaxMsgsPerSubject; most > 0 && int64(len(st.subjects[msg.Subject])) > most {
		st.remove(st.subjects[msg.Subject][0])
	}
	if m.Header.Get(headerNext) == nextPurge {
		st.purge(m.Header.Get(headerScheduler))
	}
	if id := m.Header.Get(jetstream.MsgIDHeader); id != "" {
		st.ids[id] = remembered{m.Sequence, now}
		st.expireBy(now.Add(st.config.Duplicates))
	}
	return m.Sequence
}

// purge removes the messages of a subject, which may have wildcards. As the server does, it also forgets which messages the consumers of the subject were
// about to deliver again, on any subject: they come when the time for their acknowledgement is over.
func (st *stream) purge(subject string) {
	all := slices.Clone(st.subjects[subject])
	if strings.ContainsAny(subject, "*>") {
		for _, m := range st.messages {
			if Matches(subject, m.Subject) {
				all = append(all, m)
			}
		}
	}
	for _, m := range all {
		st.remove(m)
	}
	for _, c := range st.consumers {
		if c.wants(subject) {
			c.again = nil
		}
	}
}

func (st *stream) remove(m *message) {
	delete(st.messages, m.Sequence)
	delete(st.delayed, m.Sequence)
	rest := slices.DeleteFunc(st.subjects[m.Subject], func(other *message) bool { return other == m })
	if len(rest) == 0 {
		delete(st.subjects, m.Subject)
		return
	}
	st.subjects[m.Subject] = rest
}

// expires returns when a message goes by itself.
func (st *stream) expires(m *message) time.Time {
	life := st.config.MaxAge
	switch ttl, err := ttlOf(m.Header); {
	case err == nil && ttl == never:
		return time.Time{}
	case err == nil && ttl > 0 && (life == 0 || ttl < life):
		life = ttl
	}
	if life == 0 {
		return time.Time{}
	}
	return m.Stored.Add(life)
}

// expireBy notes that something expires at a time.
func (st *stream) expireBy(at time.Time) {
	if !at.IsZero() && (st.expiry.IsZero() || at.Before(st.expiry)) {
		st.expiry = at
	}
}

func (st *stream) expire(now time.Time) {
	if st.expiry.IsZero() || now.Before(st.expiry) {
		return
	}
	st.expiry = time.Time{}
	for id, known := range st.ids {
		if end := known.at.Add(st.config.Duplicates); now.Before(end) {
			st.expireBy(end)
		} else {
			delete(st.ids, id)
		}
	}
	for _, m := range st.messages {
		if m.expires.IsZero() || now.Before(m.expires) {
			st.expireBy(m.expires)
		} else {
			st.remove(m)
		}
	}
}

// due returns the delayed messages whose time has come, in the order in which they were stored.
func (st *stream) due(now time.Time) []Message {
	var due []Message
	for sequence, at := range st.delayed {
		if !at.After(now) {
			due = append(due, st.messages[sequence].Message)
		}
	}
	slices.SortFunc(due, func(a, b Message) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return due
}
