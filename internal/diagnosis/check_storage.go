package diagnosis

import (
	"fmt"
	"time"
)

func checkNATS(f *Facts) Check {
	if !f.NATS.JetStream {
		return notOK("nats", Failed, fmt.Sprintf("%s answers, without JetStream for this account", f.NATS.URL),
			"enable it: nats-server --jetstream, or jetstream: enabled in the configuration of the account")
	}
	if f.NATS.Unanswered != "" && f.Cluster == nil && f.Unreadable != "" {
		return notOK("nats", Failed, fmt.Sprintf("%s answers, and its JetStream does not: %s", f.NATS.URL, f.NATS.Unanswered), quorum)
	}
	if old := checkVersion(&f.NATS); old != nil {
		return *old
	}
	where := "a server on its own"
	if f.NATS.Cluster != "" {
		where = fmt.Sprintf("cluster %s of %s", f.NATS.Cluster, counted(max(len(f.NATS.Servers), 1), "server"))
	}
	took := f.NATS.RoundTrip.Round(100 * time.Microsecond)
	return ok("nats", "%s answers, version %s, %s, in %s", f.NATS.URL, f.NATS.Version, where, took)
}

// checkInstallation looks for streams, buckets and consumers that are missing or have the wrong configuration.
func checkInstallation(f *Facts) Check {
	if f.Cluster == nil && f.Unreadable != "" {
		return notOK("installation", Failed, fmt.Sprintf("whether there is one with the prefix %s could not be found out: %s",
			f.Prefix, f.Unreadable), quorum)
	}
	if f.Cluster == nil {
		return notOK("installation", Failed, fmt.Sprintf("there is none with the prefix %s", f.Prefix),
			"start one: carillon server; or name yours with --prefix")
	}
	const next = "start any process of Carillon, or restart one: it creates and adapts what it needs when it begins"
	var missing, unfit []string
	for i := range f.Streams {
		s := &f.Streams[i]
		switch {
		case s.Missing:
			missing = append(missing, s.title())
		case s.Unfit:
			unfit = append(unfit, s.title())
		}
		for j := range s.Consumers {
			switch c := &s.Consumers[j]; {
			case c.Missing:
				missing = append(missing, fmt.Sprintf("consumer %s of %s", c.Name, s.title()))
			case c.Unfit:
				unfit = append(unfit, fmt.Sprintf("consumer %s of %s", c.Name, s.title()))
			}
		}
	}
	switch {
	case len(missing) > 0:
		return notOK("installation", Failed, "missing: "+listed(missing), whatIsMissing(f, next))
	case len(unfit) > 0:
		return notOK("installation", Failed, "not as it must be: "+listed(unfit), next)
	}
	return ok("installation", "%s, %s, %s", counted(f.Cluster.Shards, "shard"), counted(f.Cluster.Replicas, "replica"),
		counted(f.Namespaces, "namespace"))
}

// checkStorage looks for streams that accept no writes, and for limits that are near: the limit of the account, and limits that
// an operator has given streams.
func checkStorage(f *Facts) Check {
	if check := checkWrites(f); check.Status != OK {
		return check
	}
	worst, about := part(f.NATS.Stored, f.NATS.StoreLimit), "the account"
	for i := range f.Streams {
		s := &f.Streams[i]
		if s.Rolls {
			continue
		}
		if p := part(int64(s.Bytes), s.MaxBytes); p > worst {
			worst, about = p, s.title()
		}
	}
	detail := fmt.Sprintf("%s stored", SizeText(f.NATS.Stored))
	if f.NATS.StoreLimit > 0 {
		detail += " of " + SizeText(f.NATS.StoreLimit)
	}
	if worst < storeWarning {
		return ok("storage", "%s", detail)
	}
	status := Warning
	if worst >= storeFailed {
		status = Failed
	}
	return notOK("storage", status, fmt.Sprintf("%s; %s is %.0f %% full", detail, about, worst*100),
		"raise the limit, or keep less: nats stream edit --max-age shortens the event history. What is full takes no schedule and "+
			"no run")
}

// part returns how much of a limit is used, from 0 to 1. It returns 0 if there is no limit.
func part(used, limit int64) float64 {
	if limit <= 0 {
		return 0
	}
	return float64(used) / float64(limit)
}

// checkReplicas looks for streams without a leader, and for replicas that are missing, offline or behind.
func checkReplicas(f *Facts) Check {
	var leaderless, short, behind []string
	for i := range f.Streams {
		s := &f.Streams[i]
		if s.Missing {
			continue
		}
		if s.Leader == "" {
			leaderless = append(leaderless, s.title())
		}
		if s.Replicas < f.Cluster.Replicas {
			short = append(short, s.title())
		}
		for _, p := range s.Peers {
			if p.Offline || !p.Current {
				behind = append(behind, fmt.Sprintf("%s on %s", s.title(), p.Name))
			}
		}
	}
	switch {
	case len(leaderless) > 0:
		return notOK("replicas", Failed, "no leader: "+listed(leaderless),
			"see that more than half of the NATS servers run and reach each other: nats server report jetstream")
	case len(behind) > 0:
		return notOK("replicas", Warning, "offline or behind: "+listed(behind),
			"see whether that NATS server runs; one that was away catches up by itself")
	case len(short) > 0:
		return notOK("replicas", Warning, fmt.Sprintf("fewer than %d replicas: %s", f.Cluster.Replicas, listed(short)),
			fmt.Sprintf("restart a process of Carillon with --replicas %d", f.Cluster.Replicas))
	case f.Cluster.Replicas == 1:
		return ok("replicas", "one each: nothing is lost when the server restarts, and all of it with its disk")
	}
	return ok("replicas", "%d each, all current", f.Cluster.Replicas)
}

func checkClock(f *Facts) Check {
	skew := f.NATS.Skew.Abs()
	if skew = max(skew-f.NATS.RoundTrip/2, 0); skew < skewWarning {
		known := max(f.NATS.RoundTrip, 100*time.Millisecond).Round(time.Millisecond)
		return ok("clock", "this machine and the servers agree to %s", known)
	}
	status, direction := Warning, "ahead of"
	if skew >= skewFailed {
		status = Failed
	}
	if f.NATS.Skew < 0 {
		direction = "behind"
	}
	return notOK("clock", status, fmt.Sprintf("the servers are %s %s this machine", skew.Round(100*time.Millisecond), direction),
		"synchronise the clocks of all machines, with chrony or systemd-timesyncd: actions start by them")
}
