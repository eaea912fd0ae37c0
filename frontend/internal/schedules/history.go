package schedules

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

// historyToken begins the token of a page of events, so that it is not mistaken for a token of list.
const historyToken = "event:"

// historyReply is a schedule.HistoryReply whose entries are already encoded, like those of a listReply.
type HistoryReply struct {
	Events        []json.RawMessage `json:"events"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// History reads one page of the event history. The schedule need not exist: its events outlive it.
func (s *Service) History(ctx context.Context, namespace string, req *schedule.HistoryRequest) (HistoryReply, error) {
	after, err := decodeHistoryToken(req.PageToken)
	if err != nil {
		return HistoryReply{}, err
	}
	query := events.Query{
		Key: schedule.Key{Namespace: namespace, ID: req.ID}, Kinds: req.Kinds, From: req.From, To: req.To,
	}
	size := cmp.Or(req.PageSize, listing.DefaultPageSize)
	if req.Newest {
		page, err := s.eventReader().Newest(ctx, query, size)
		if err != nil {
			return HistoryReply{}, err
		}
		return s.newestPage(&page)
	}
	page, err := s.eventReader().Page(ctx, query, after, size)
	if err != nil {
		return HistoryReply{}, err
	}
	return s.historyPage(&page)
}

func (s *Service) eventReader() *events.Reader { return events.NewReader(s.js, s.names) }

// historyPage makes a reply of as many events as fit. The next page begins after them.
func (s *Service) historyPage(page *events.Page) (HistoryReply, error) {
	entries, err := encodeEach(page.Entries, func(e *events.Entry) any { return e.Event })
	if err != nil {
		return HistoryReply{}, err
	}
	// An event is far smaller than a message, so at least one fits.
	fits := listing.Fit(entries, s.maxReply()-listing.ReplyOverhead)
	reply := HistoryReply{Events: listing.RawMessages(entries[:fits])}
	if fits < len(entries) || page.More {
		next := page.Next
		if fits > 0 && fits < len(entries) {
			next = page.Entries[fits-1].Sequence
		}
		reply.NextPageToken = encodeHistoryToken(next)
	}
	return reply, nil
}

// newestPage makes a reply of the last events that fit.
func (s *Service) newestPage(page *events.Page) (HistoryReply, error) {
	entries, err := encodeEach(page.Entries, func(e *events.Entry) any { return e.Event })
	if err != nil {
		return HistoryReply{}, err
	}
	for listing.Fit(entries, s.maxReply()-listing.ReplyOverhead) < len(entries) {
		entries = entries[1:]
	}
	return HistoryReply{Events: listing.RawMessages(entries)}, nil
}

func encodeHistoryToken(after uint64) string {
	return listing.EncodePageToken(historyToken + strconv.FormatUint(after, 10))
}

// decodeHistoryToken reverses encodeHistoryToken. The empty token stands for the first page.
func decodeHistoryToken(token string) (after uint64, err error) {
	text, err := listing.DecodePageToken(token)
	if err != nil || text == "" {
		return 0, err
	}
	number, ok := strings.CutPrefix(text, historyToken)
	after, err = strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return 0, schedule.Invalid("pageToken", "is not a token of the event history: "+
			"repeat nextPageToken as it was, or leave it out to begin with the first page")
	}
	return after, nil
}

// encodeEach encodes the elements of a list one by one, because their sizes decide how many fit.
func encodeEach[T any](list []T, of func(*T) any) ([][]byte, error) {
	encoded := make([][]byte, len(list))
	for i := range list {
		var err error
		if encoded[i], err = apitext.EncodeJSON(of(&list[i])); err != nil {
			return nil, err
		}
	}
	return encoded, nil
}
