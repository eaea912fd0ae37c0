package metrics

const byReplication = "replication"

// The two sites of an installation.
var (
	SiteState = newGauge(GroupSites, Instrument{
		Name: "carillon.site.state", By: byReplication,
		Description: "1 for the state in which the site of the process is. There is no series while the installation has only one site.",
		Attributes:  []Attribute{{Name: "state", Means: "the states of a site, such as active and standby (docs/sites.md)"}},
	})
	SiteTerm = newGauge(GroupSites, Instrument{
		Name: "carillon.site.term", By: byReplication,
		Description: "The term of the site of the process: it grows with each takeover.",
	})
	SitePeer = newGauge(GroupSites, Instrument{
		Name: "carillon.site.peer", By: byReplication,
		Description: "1 while the other site answers, 0 while it does not.",
	})
	ReplicationLag = newGauge(GroupSites, Instrument{
		Name: "carillon.replication.lag", Unit: "s", By: byReplication,
		Description: "How long ago the other site had no more than this standby has: what a loss of the other site would lose at most. It grows while the other site does not answer.",
	})
	ReplicationLagEntries = newGauge(GroupSites, Instrument{
		Name: "carillon.replication.entries", Unit: "{entry}", By: byReplication,
		Description: "How many entries of the streams of the other site this standby did not have when both were last asked.",
	})
)
