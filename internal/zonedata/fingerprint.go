package zonedata

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// fingerprintDigits is the length of a fingerprint and of a digest.
const fingerprintDigits = 12

// Schedules run from the first of these years to the last, both included.
const (
	firstYear = 2000
	lastYear  = 2100
)

// fingerprint returns twelve hexadecimal digits that are equal for zones with the same offsets from UTC at every instant from
// 2000 to 2100, whatever their names. It takes about 50 µs.
func fingerprint(location *time.Location) string {
	hash := sha256.New()
	at := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)
	end := time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)
	var pair []byte
	for last := int64(1 << 40); at.Before(end); { // no offset is that large
		local := at.In(location)
		if _, offset := local.Zone(); int64(offset) != last {
			last = int64(offset)
			pair = binary.BigEndian.AppendUint64(pair[:0], uint64(at.Unix()))
			pair = binary.BigEndian.AppendUint64(pair, uint64(last))
			_, _ = hash.Write(pair) // it never fails
		}
		_, until := local.ZoneBounds()
		switch {
		case until.IsZero(): // the zone does not change any more
			at = end
		case until.After(at):
			at = until
		default: // ZoneBounds may return this on 31 December of leap years
			at = at.Add(24 * time.Hour)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:fingerprintDigits]
}
