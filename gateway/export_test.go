package gateway

// Listed returns the methods of the table of what a caller needs, and how often each is there.
func Listed() map[string]int {
	all := map[string]int{}
	for _, each := range methodsByNeed {
		for _, method := range each.methods {
			all[method]++
		}
	}
	return all
}

// Missing is a feature that is not here, with what its methods answer.
type Missing struct {
	Feature, Sentence string
	Methods           []string
}

// MissingFeatures returns the table of features that are not here.
func MissingFeatures() (all []Missing) {
	for _, each := range missingFeatures {
		all = append(all, Missing{each.feature, each.sentence, each.methods})
	}
	return all
}

// The limits of requests.
const (
	MaxText  = maxText
	MaxBlob  = maxBlob
	MaxMemo  = maxMemo
	MaxLinks = maxLinks
	MaxLink  = maxLink
)
