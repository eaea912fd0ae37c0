// Package presence lets each process of an installation tell what it is when asked: its roles, its version, its time zone
// data, and how far its search index is. A process says nothing unless asked, so this costs nothing.
//
// The package may import subjects, internal/bus and internal/zonedata.
package presence

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Process is one process of an installation.
type Process struct {
	// Host is the name of its machine, PID its process number there.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Roles are the roles that it runs, such as "generator".
	Roles []string `json:"roles"`
	// Standby says that its roles only read, since the installation is active at another site.
	Standby bool `json:"standby,omitempty"`
	// Version is the version of the program.
	Version string `json:"version"`
	// Zones is the version of its time zone data, and ZonesFrom the path of the data if it is not the data of the program.
	// ZonesDigest is equal for data with the same rules.
	Zones       string `json:"zones"`
	ZonesFrom   string `json:"zonesFrom,omitempty"`
	ZonesDigest string `json:"zonesDigest"`
	// Index is how far its search index is; nil if it has none.
	Index *Index `json:"index,omitempty"`
}

// Index is how far a search index is.
type Index struct {
	// Ready says that it answers queries. Until then it is being built.
	Ready bool `json:"ready"`
	// Read is how many messages it has read since Since, when it was opened; Total is how many there were to read then.
	Read  uint64    `json:"read"`
	Total uint64    `json:"total"`
	Since time.Time `json:"since,omitzero"`
	// UpTo is the time up to which it has all changes, by the clock of the process; zero until it is ready.
	UpTo time.Time `json:"upTo,omitzero"`
}

// Self returns what this process is, with the time zone data that it uses. It takes some tens of milliseconds at first.
func Self(version string, data *zonedata.Data, roles ...string) Process {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Process{
		Host: host, PID: os.Getpid(), Roles: roles, Version: version,
		Zones: data.Version(), ZonesFrom: data.Source(), ZonesDigest: data.Digest(),
	}
}

// Title names the process for users, such as "generator on h1 (process 7)".
func (p *Process) Title() string {
	return fmt.Sprintf("%s on %s (process %d)", strings.Join(p.Roles, ", "), p.Host, p.PID)
}

// Announce answers for a process until ctx ends. self says what to answer each time.
func Announce(ctx context.Context, conn *nats.Conn, names subjects.Names, self func() Process) error {
	asked, err := conn.Subscribe(names.Processes(), func(question *nats.Msg) {
		if names.IsOwn(question.Reply) { // on such a subject, an answer would have an effect
			return
		}
		answer, _ := json.Marshal(self()) // it has plain values only
		_ = question.Respond(answer)      // the asker may ask again
	})
	if err != nil {
		return fmt.Errorf("presence: listen: %w", err)
	}
	<-ctx.Done()
	_ = asked.Unsubscribe() // it fails if the connection is closed
	return nil
}

// All asks all processes what they are and collects answers until ctx ends. They are ordered by host and process number. A process whose parts answer
// for themselves is there once, with the roles of all parts. Processes of releases that do not answer are missing.
func All(ctx context.Context, conn *nats.Conn, names subjects.Names) ([]Process, error) {
	all := []Process{}
	err := Ask(ctx, bus.Plain{Conn: conn}, names.Processes(), func(data []byte) {
		var p Process
		if json.Unmarshal(data, &p) == nil && len(p.Roles) > 0 {
			all = append(all, p)
		}
	})
	slices.SortStableFunc(all, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), slices.Compare(a.Roles, b.Roles))
	})
	return merged(all), err
}

// merged returns processes, in their order, with the parts of each put together.
func merged(parts []Process) []Process {
	all := parts[:0]
	for _, part := range parts {
		last := len(all) - 1
		if last < 0 || all[last].Host != part.Host || all[last].PID != part.PID {
			all = append(all, part)
			continue
		}
		for _, role := range part.Roles {
			if !slices.Contains(all[last].Roles, role) {
				all[last].Roles = append(all[last].Roles, role)
			}
		}
		all[last].Index = cmp.Or(all[last].Index, part.Index)
	}
	return all
}

// Ask sends an empty request on a subject and passes on the data of each answer, until ctx ends or NATS says that nobody listens.
func Ask(ctx context.Context, conn bus.Conn, subject string, take func(data []byte)) error {
	inbox, answers := conn.NewInbox(), make(chan *nats.Msg, mostWaiting)
	sub, err := conn.ChanQueueSubscribe(inbox, "", answers)
	if err != nil {
		return err
	}
	defer conn.Unsubscribe(sub)
	if err := conn.PublishMsg(&nats.Msg{Subject: subject, Reply: inbox}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		select {
		case answer := <-answers:
			if bus.NobodyListens(answer) {
				return nil
			}
			take(answer.Data)
		case <-ctx.Done():
		}
	}
	return nil
}

// mostWaiting is how many answers may wait to be taken: more than an installation has processes. Each question takes room for as many.
const mostWaiting = 1 << 14
