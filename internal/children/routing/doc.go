// Package routing builds what routes requests to an Echo from outside of the cluster, and says at which URLs it is reached.
package routing
