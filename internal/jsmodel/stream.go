package jsmodel

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

type message struct {
	Message
	// before is what the message has replaced on its subject.
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

// publish checks a message and stores it: first the expected sequence, then the delay, then whether it is a repeat.
func (st *stream) publish(now time.Time, msg *nats.Msg) (Ack, error) {
	ack := Ack{Stream: st.config.Name}
	if text := msg.Header.Get(nats.ExpectedLastSubjSeqHdr); text != "" {
		want, _ := strconv.ParseUint(text, 10, 64)
		var have uint64
		if last := st.last(msg.Subject); last != nil {
			have = last.Sequence
		}
		if want != have {
			return ack, &jetstream.APIError{
				Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence,
				Description: "wrong last sequence: " + strconv.FormatUint(have, 10),
			}
		}
	}
	if err := st.checkSchedule(msg); err != nil {
		return ack, err
	}
	if id := msg.Header.Get(jetstream.MsgIDHeader); id != "" {
		if known, ok := st.ids[id]; ok && now.Sub(known.at) < st.config.Duplicates {
			ack.Sequence, ack.Duplicate = known.sequence, true
			return ack, nil
		}
	}
	ack.Sequence = st.store(now, msg)
	return ack, nil
}

// checkSchedule refuses a delayed message that the stream could not deliver.
func (st *stream) checkSchedule(msg *nats.Msg) error {
	if scheduler := msg.Header.Get("Nats-Scheduler"); scheduler != "" {
		timer := st.last(scheduler)
		if scheduler == msg.Subject || timer != nil && timer.Header.Get("Nats-Schedule") == "" {
			return &jetstream.APIError{Code: 400, ErrorCode: 10211, Description: "message schedule invalid scheduler"}
		}
	}
	if msg.Header.Get("Nats-Schedule") == "" {
		return nil
	}
	if _, ok := delay(msg.Header); !ok {
		return &jetstream.APIError{Code: 400, ErrorCode: 10189, Description: "message schedule pattern is invalid"}
	}
	if target := msg.Header.Get("Nats-Schedule-Target"); target == msg.Subject || !st.takes(target) {
		return &jetstream.APIError{Code: 400, ErrorCode: 10190, Description: "message schedule target is invalid"}
	}
	return nil
}

// delay returns when a message is to be delivered.
func delay(header nats.Header) (at time.Time, ok bool) {
	text, ok := strings.CutPrefix(header.Get("Nats-Schedule"), "@at ")
	if !ok {
		return at, false
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

// store stores a message without a check, and does what its headers ask for.
func (st *stream) store(now time.Time, msg *nats.Msg) uint64 {
	at, delayed := delay(msg.Header)
	st.sequence++
	m := &message{
		Message: Message{Sequence: st.sequence, Subject: msg.Subject, Header: maps.Clone(msg.Header), Data: msg.Data, Stored: now},
		before:  st.last(msg.Subject),
	}
	if ttl, err := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader)); err == nil {
		m.expires = now.Add(ttl)
	}
	if msg.Header.Get(jetstream.MsgRollup) == jetstream.MsgRollupSubject || delayed {
		st.purge(msg.Subject)
	}
	st.expireBy(m.expires)
	if st.config.MaxAge > 0 {
		st.expireBy(now.Add(st.config.MaxAge))
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
	if delayed {
		st.delayed[m.Sequence] = at
	}
	if msg.Header.Get("Nats-Schedule-Next") == "purge" {
		st.purge(msg.Header.Get("Nats-Scheduler"))
	}
	if id := msg.Header.Get(jetstream.MsgIDHeader); id != "" {
		st.ids[id] = remembered{m.Sequence, now}
		st.expireBy(now.Add(st.config.Duplicates))
	}
	return m.Sequence
}

func (st *stream) purge(subject string) {
	for _, m := range slices.Clone(st.subjects[subject]) {
		st.remove(m)
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
		end := m.expires
		if aged := m.Stored.Add(st.config.MaxAge); st.config.MaxAge > 0 && (end.IsZero() || aged.Before(end)) {
			end = aged
		}
		if end.IsZero() || now.Before(end) {
			st.expireBy(end)
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
