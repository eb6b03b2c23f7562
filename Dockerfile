# One image for everything: managers, commands, Spark jobs. A Java runtime comes with the requirements.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    IGQ_DATA_DIR=/data

# A volume that is mounted on /data takes over the owner that it has here.
RUN useradd --create-home igq && install -d -o igq -g igq -m 0700 /data

WORKDIR /opt/igq

# The requirements are a layer of their own, so that a change of the code does not install Spark again.
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY config config
COPY sharedq sharedq
COPY recovery recovery
COPY igq igq
COPY pyspark_igq.py pyspark_igq_journal.py ./
RUN pip install --no-deps --no-build-isolation -e .

USER igq
VOLUME /data
ENTRYPOINT ["igq"]
CMD ["--help"]
