package prometheus

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// series stores all series in a test.
type series struct {
	all []storage.Series
}

// load returns the series that a test describes.
func load(t *testing.T, test alertTest) *series {
	t.Helper()
	loaded := &series{}
	for _, given := range test.Series {
		metric, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(given.Series + " " + given.Values)
		if err != nil {
			t.Fatal(err)
		}
		var samples []chunks.Sample
		for i, value := range values {
			if !value.Omitted {
				samples = append(samples, sample{time: int64(i) * time.Duration(test.Interval).Milliseconds(), value: value.Value})
			}
		}
		loaded.all = append(loaded.all, storage.NewListSeries(metric, samples))
	}
	return loaded
}

// Querier implements [storage.Queryable].
func (s *series) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		found := &set{SeriesSet: storage.EmptySeriesSet()}
		for _, one := range s.all {
			if matches(one.Labels(), matchers) {
				found.left = append(found.left, one)
			}
		}
		return found
	}}, nil
}

func matches(metric labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(metric.Get(m.Name)) {
			return false
		}
	}
	return true
}

// set is a storage.SeriesSet without errors or warnings.
type set struct {
	storage.SeriesSet
	current storage.Series
	left    []storage.Series
}

// Next implements [storage.SeriesSet].
func (s *set) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.current, s.left = s.left[0], s.left[1:]
	return true
}

// At implements [storage.SeriesSet].
func (s *set) At() storage.Series { return s.current }

// sample is a number without a start timestamp.
type sample struct {
	chunks.Sample
	time  int64
	value float64
}

func (s sample) T() int64                 { return s.time }
func (s sample) ST() int64                { return 0 }
func (s sample) F() float64               { return s.value }
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }
