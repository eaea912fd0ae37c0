package replication

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Sites reads and changes which sites an installation has, for people. It is safe for concurrent use.
type Sites struct {
	js    jetstream.JetStream
	names subjects.Names
	store site.Store
	now   func() time.Time
}

// NewSites returns the sites of an installation, seen from the one to which js leads. now is the clock.
func NewSites(js jetstream.JetStream, names subjects.Names, now func() time.Time) *Sites {
	return &Sites{js, names, site.NewStore(js, names), now}
}

// Look is what both sites say.
type Look struct {
	// Here is the site that was asked; nil if the installation has only one.
	Here *site.Record `json:"here"`
	// There is the other one; nil if it does not answer.
	There *site.Record `json:"there,omitempty"`
	// Behind is how many entries the standby lacks, by stream, among those that it does not have all of; nil if one of them does not answer.
	Behind map[string]uint64 `json:"behind,omitempty"`
	// Missing are the mirrors that a standby does not have yet, or that have not heard of their origin lately.
	Missing []string `json:"missing,omitempty"`
	// Ahead are the streams of which the standby has or had more than the active site: that one has lost what it had acknowledged, for example with its power.
	Ahead []string `json:"ahead,omitempty"`
	// Diverged is how many diverged messages this site keeps.
	Diverged uint64 `json:"diverged"`
}

// silentAfter is after how long a mirror that has not heard of its origin counts as missing.
const silentAfter = 10 * time.Second

// Look asks both sites.
func (s *Sites) Look(ctx context.Context) (Look, error) {
	var look Look
	var err error
	if look.Here, _, err = s.store.Load(ctx); err != nil || look.Here == nil {
		return look, err
	}
	look.There = s.there(ctx, look.Here)
	if stream, err := s.js.Stream(ctx, s.names.DivergedStream()); err == nil {
		look.Diverged = stream.CachedInfo().State.Msgs
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return look, err
	}
	if look.There == nil {
		return look, nil
	}
	far, err := site.At(s.js.Conn(), look.Here.Peer)
	if err != nil {
		return look, err
	}
	switch {
	case look.Here.State == site.Standby:
		look.Ahead = slices.Clone(look.Here.Ahead)
		err = look.compare(ctx, s.names, far, s.js)
	case look.There.State == site.Standby:
		look.Ahead = slices.Clone(look.There.Ahead)
		err = look.compare(ctx, s.names, s.js, far)
	}
	return look, err
}

func (s *Sites) there(ctx context.Context, here *site.Record) *site.Record {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	there, err := s.store.Peer(ctx, here.Peer)
	if err != nil {
		return nil
	}
	return there
}

// compare says what a standby lacks of an active site.
func (l *Look) compare(ctx context.Context, names subjects.Names, active, standby jetstream.JetStream) error {
	facts, err := topology.Read(ctx, active, names)
	if err != nil {
		return err
	}
	l.Behind = map[string]uint64{}
	for _, name := range names.MirroredStreams(facts.Shards) {
		mirror, err := standby.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			l.Missing = append(l.Missing, name)
			continue
		}
		if err != nil {
			return err
		}
		l.add(name, mirror.CachedInfo().Mirror, func() bool { return isAhead(ctx, active, standby, name) })
	}
	return nil
}

// add takes note of a mirror. NATS says itself what a mirror lacks: it cannot be computed from the ends of both, since the last entries of the origin may be gone.
func (l *Look) add(name string, mirror *jetstream.StreamSourceInfo, isAhead func() bool) {
	switch {
	case mirror == nil || mirror.Active < 0 || mirror.Active > silentAfter:
		l.Missing = append(l.Missing, name)
	case mirror.Lag > 0:
		l.Behind[name] = mirror.Lag
	case !slices.Contains(l.Ahead, name) && isAhead():
		l.Ahead = append(l.Ahead, name)
	}
}

// isAhead reports whether a standby has more than the active site: it looks at the standby first, so that what comes in meanwhile does not count.
func isAhead(ctx context.Context, active, standby jetstream.JetStream, name string) bool {
	has, err := streams{js: standby}.last(ctx, name)
	if err != nil {
		return false
	}
	less, err := streams{js: active}.endsBefore(ctx, name, has, 1)
	return err == nil && less
}

// domain returns the JetStream domain of this site.
func (s *Sites) domain(ctx context.Context) (string, error) {
	info, err := s.js.AccountInfo(ctx)
	if err != nil {
		return "", err
	}
	if info.Domain == "" {
		return "", schedule.Errorf(schedule.CodeFailedPrecondition,
			"the NATS servers of this site have no JetStream domain: name one in their configuration, such as jetstream { domain: east }")
	}
	return info.Domain, nil
}

// Link makes this installation the active one of two sites. peer is the JetStream domain of the other site, which need not answer yet. The error has CodeFailedPrecondition
// if the installation has two sites already, or the servers of this one have no domain.
func (s *Sites) Link(ctx context.Context, peer string) (*site.Record, error) {
	here, revision, err := s.free(ctx, peer)
	if err != nil {
		return nil, err
	}
	facts, err := topology.Read(ctx, s.js, s.names)
	if err != nil {
		return nil, err
	}
	record := site.Linked(here, peer, s.now())
	return record, s.store.Save(ctx, record, revision, facts.Replicas)
}

// Join makes this site the standby of another one, by the JetStream domain of that. It must answer, and must have been linked to this one. The error has CodeFailedPrecondition if there is an
// installation with this prefix here already.
func (s *Sites) Join(ctx context.Context, peer string) (*site.Record, error) {
	here, revision, err := s.free(ctx, peer)
	if err != nil {
		return nil, err
	}
	if left, err := s.streams(ctx); err != nil {
		return nil, err
	} else if len(left) > 0 {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition,
			"there is an installation with the prefix %q here already, or a part of one, such as the stream %s: a standby begins empty", s.names.Prefix(), left[0].Name)
	}
	there, facts, err := s.origin(ctx, here, peer)
	if err != nil {
		return nil, err
	}
	record := site.Joined(here, there, s.now())
	return record, s.store.Save(ctx, record, revision, facts.Replicas)
}

// origin returns the record and the facts of the site that this one is to mirror.
func (s *Sites) origin(ctx context.Context, here, peer string) (*site.Record, topology.Facts, error) {
	there := s.there(ctx, &site.Record{Peer: peer})
	switch {
	case there == nil:
		return nil, topology.Facts{}, schedule.Errorf(schedule.CodeUnavailable,
			"the site %q does not answer, or has not been linked: carillon site link %s there, and connect the NATS servers by a leaf node", peer, here)
	case there.Peer != here || there.Site != peer:
		return nil, topology.Facts{}, schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is linked to %q, not to %q", peer, there.Peer, here)
	}
	far, err := site.At(s.js.Conn(), peer)
	if err != nil {
		return nil, topology.Facts{}, err
	}
	facts, err := topology.Read(ctx, far, s.names)
	return there, facts, err
}

// free returns the domain of this site, and the revision of its record if that was removed.
func (s *Sites) free(ctx context.Context, peer string) (domain string, revision uint64, err error) {
	if domain, err = s.domain(ctx); err != nil {
		return "", 0, err
	}
	if peer == "" || peer == domain {
		return "", 0, schedule.Invalid("site", "%q must be the JetStream domain of the other site: this one is %q", peer, domain)
	}
	record, revision, err := s.store.Load(ctx)
	if err == nil && record != nil {
		err = schedule.Errorf(schedule.CodeFailedPrecondition, "this site is linked already (%s, with %s): carillon site unlink ends that", record, record.Peer)
	}
	return domain, revision, err
}

// Unlink makes an installation of an active site one with a single site. Its standby must be unlinked there: that removes its mirrors. The error has CodeFailedPrecondition in another state.
func (s *Sites) Unlink(ctx context.Context) (*site.Record, error) {
	here, err := s.linked(ctx)
	if err != nil {
		if schedule.CodeOf(err) == schedule.CodeFailedPrecondition { // an earlier attempt may have removed the record alone
			err = cmp.Or(s.leave(ctx), err)
		}
		return nil, err
	}
	switch here.State {
	case site.Active:
		return here, s.store.Remove(ctx)
	case site.Standby:
		return here, s.leave(ctx)
	}
	return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is %s: only an active one or a standby can be unlinked", here.Site, here.State)
}

// leave removes the record of a standby, and then its mirrors. A process that makes mirrors may be late, so it looks until there are none.
func (s *Sites) leave(ctx context.Context) error {
	if err := s.store.Remove(ctx); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	for {
		all, err := s.streams(ctx)
		mirrors := slices.DeleteFunc(all, func(c jetstream.StreamConfig) bool { return c.Mirror == nil })
		if err != nil || len(mirrors) == 0 {
			return err
		}
		for _, mirror := range mirrors {
			if err := s.js.DeleteStream(ctx, mirror.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return fmt.Errorf("replication: remove the mirror %s: %w", mirror.Name, err)
			}
		}
	}
}

// streams returns the streams of the installation that exist here, whatever they are.
func (s *Sites) streams(ctx context.Context) (all []jetstream.StreamConfig, err error) {
	list := s.js.ListStreams(ctx)
	for info := range list.Info() {
		if s.names.SubjectsOf(info.Config.Name, topology.MaxShards) != nil {
			all = append(all, info.Config)
		}
	}
	return all, list.Err()
}

// linked returns the record of this site. The error has CodeFailedPrecondition if the installation has only one.
func (s *Sites) linked(ctx context.Context) (*site.Record, error) {
	here, _, err := s.store.Load(ctx)
	if err == nil && here == nil {
		err = schedule.Errorf(schedule.CodeFailedPrecondition, "the installation has only one site: carillon site link makes it two")
	}
	return here, err
}
