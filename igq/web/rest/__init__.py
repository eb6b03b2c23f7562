"""The REST interface: IBM's messaging and MQSC resources, version 3, with IBM's headers, codes and error bodies."""
