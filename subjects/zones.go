package subjects

// KeyZoneSweep is the KV key, in the cluster bucket, of how far the schedules have been brought to the rules of some time zone data.
const KeyZoneSweep = "zone-sweep"
