/* Producer and consumer as one library. */
#include "producer.c"

#include "consumer.c"
